#!/usr/bin/env bash
# Every C file of the repository is laid out by .clang-format, except for what that cannot say; see scripts/check-format.
. tests/e2e/lib.sh
need clang-format
need python3
scripts/check-format >"$scratch/said"
is "$(grep -v ' 0 of them' "$scratch/said")" "" "$(tail -1 "$scratch/said")"

# The check itself: what it refuses, and what it leaves to the writer.
cp .clang-format "$scratch"
refuses() { # WHAT TEXT
	printf "$2" >"$scratch/example.c"
	(cd "$scratch" && "$root/scripts/check-format" example.c >/dev/null)
	is $? 1 "refused: $1"
}
refuses "a sum without blanks" 'int f(int a)\n{\n\treturn a+1;\n}\n'
refuses "four blanks for a tab" 'int f(int a)\n{\n    return a + 1;\n}\n'
refuses "the body of an if that is not indented" 'int f(int a)\n{\n\tif (a)\n\treturn 2;\n\treturn g(a,\n\t      2);\n}\n'
refuses "an argument that is neither aligned nor a tab further" 'int f(int a)\n{\n\treturn g(a,\n\t    2);\n}\n'
refuses "a statement that is broken and not indented further" 'int f(int a)\n{\n\treturn a ? b :\n\tc;\n}\n'
refuses "a brace at the end of a function's head" 'int f(int a) {\n\treturn a;\n}\n'
refuses "two statements in a line" 'int f(int a)\n{\n\ta++; return a;\n}\n'
wide=$(printf '%0.s1 + ' $(seq 40))
refuses "a line of more than 140 columns, with a tab every eight" "int f(int a)\n{\n\treturn a + ${wide}a;\n}\n"
(cd "$scratch" && "$root/scripts/check-format" --fix example.c >/dev/null && "$root/scripts/check-format" example.c >said)
is "$(cat "$scratch/said") $(tr -d ' \t\n' <"$scratch/example.c")" \
	"1 files, 0 of them laid out differently intf(inta){returna+$(tr -d ' ' <<<"$wide")a;}" "which --fix breaks, without changing a word"
refuses "two empty lines" 'int a;\n\n\nint b;\n'
cat >"$scratch/example.c" <<'C'
enum { one, two, three };
struct s {
	int a;      /* these two comments */
	char b[20]; /* are in one column */
} *pointer;
static const char *const names[] = {
	"a", "b",
	"c", "d",
};
int f(int a)
{
	return a ? g(a,
		     2) :
	       h(&(struct s){
		.a = 1,
	}, names);
}
C
(cd "$scratch" && "$root/scripts/check-format" example.c >said)
is "$(cat "$scratch/said")" "1 files, 0 of them laid out differently" "left to the writer: columns of comments, and where a line is broken"
done_testing
