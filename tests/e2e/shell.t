#!/usr/bin/env bash
# The shell, driven through a terminal as a person would: commands, options that stay set, completion, history, files, the pager.
. tests/e2e/lib.sh
need tmux python3
cd "$scratch" || exit 1
demo_dumps
export HOME=$scratch/home XDG_STATE_HOME=
mkdir -p home
export LC_ALL=C.UTF-8 # tmux refuses to start in a locale without it
terminals=0
tmux() { command tmux -S "$scratch/tmux.$terminals" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null; rm -rf "$scratch"' EXIT

# start COMMAND: in a terminal of 100 columns and 30 rows
start() {
	tmux kill-server 2>/dev/null
	terminals=$((terminals + 1)) # a server that is still ending takes no new session
	tmux new-session -d -x 100 -y 30 "$1; echo ended; sleep 60"
	wait_for 10 shows "$2"
}
screen() { tmux capture-pane -p; }
shows() { screen | grep -qF -- "$1"; }
# types TEXT: and return, on an empty screen
types() {
	tmux send-keys C-l
	tmux clear-history
	tmux send-keys -l -- "$1"
	tmux send-keys Enter
}
# answers TEXT PATTERN NAME: what is typed brings what matches
answers() {
	types "$1"
	wait_for 20 shows "$2"
	ok $? "$3"
	shows "$2" || screen | sed 's/^/#   /' | head -n 20
}

start "PAGER='tee pager.out' $cairn shell now.heap" '(cairn)'
is $? 0 'a prompt'
like "$(printf 'options\n' | "$cairn" shell now.heap 2>/dev/null)" '*nodecount * =  *' 'options that were not given have no value'
answers top2 'more; -n 0 shows all' 'top2 shows two rows'
answers 'top -n 1' '… and' 'so does -n'
answers 'o > options' 'wrote options' 'o lists the options'
holds 'and their values' grep -q '^ *focus *=' options
answers 'top3 --cum' 'Total%' 'an option for one command'
answers 'focus=look_up' '(cairn)' 'focus is set'
answers top 'of it shown' 'and the next command keeps to it'
screen | grep -q remember_session
is $? 1 'what does not match is gone'
answers 'options > set' 'wrote set' 'options lists all'
holds 'with what was set' grep -q 'focus  *= look_up' set
answers 'focus=' '(cairn)' 'it is taken back'
answers top remember_session 'and the rest is back'
answers 'list look_up_page' 'cache[number] = load_page(number);' 'list shows the source'
answers 'peek load_page' 'look_up_page' 'peek shows callers'
# Longer than the screen: what is at its end depends on what was sampled.
answers 'tree > calls.txt' 'wrote calls.txt' 'tree'
like "$(cat calls.txt)" '*serve_request*' 'shows callers and callees'
answers 'traces > stacks.txt' 'wrote stacks.txt' 'traces'
like "$(cat stacks.txt)" '*remember_session*' 'shows whole stacks'
answers 'tags' 'bytes' 'tags'
answers 'disasm remember_session' 'calloc' 'disasm shows instructions'
answers 'top -look_up' 'remember_session' 'a word with a dash is left out'
answers 'top (' 'closing parenthesis' 'a wrong expression is a sentence'
answers 'alloc-space' '(cairn)' 'a flag'
answers 'top1' 'allocated memory' 'changes what is counted'
answers 'alloc-space=' '(cairn)' 'and is taken back'
answers 'nonsense' "no command or option 'nonsense'" 'nonsense is said to be nonsense'
answers 'top2 > table.txt' 'wrote table.txt' '> writes a file'
like "$(cat table.txt)" '*load_page*' 'which has the table'
answers 'flame' 'wrote cairn.' 'a picture goes to a file, which is named'
like "$(head -c 100 cairn.*.svg)" '*<?xml*' 'and is an SVG'
answers 'pdf' '.pdf' 'so does the call graph'
is "$(head -c 4 cairn.*.pdf)" %PDF 'and is what its word says'
answers 'graph > calls.dot' 'wrote calls.dot' 'or by the ending of its file'
like "$(cat calls.dot)" 'digraph*' 'as text for Graphviz'
answers 'callgrind calls.out' 'wrote calls.out' 'callgrind'
like "$(head -n 1 calls.out)" 'events: Hits' 'is in its format'
answers options 'sysroot' 'long output'
wait_for 5 test -s pager.out
is $? 0 'goes through the pager'
# Completion, and history.
tmux send-keys C-l
tmux send-keys -l 'list remember_s'
tmux send-keys Tab
wait_for 5 shows 'list remember_session'
is $? 0 'tab completes a function'
tmux send-keys Enter
wait_for 5 shows 'open_sessions = session'
is $? 0 'which is then listed'
tmux send-keys C-l
tmux send-keys -l 'opti'
tmux send-keys Tab
wait_for 5 shows '(cairn) options'
is $? 0 'tab completes a command'
tmux send-keys C-u
tmux send-keys -l 'foc'
tmux send-keys Tab
tmux send-keys -l 'look_up_p'
tmux send-keys Tab
wait_for 5 shows 'focus=look_up_page'
is $? 0 'tab completes an option and its value'
tmux send-keys C-u C-l
tmux send-keys Up
wait_for 5 shows '(cairn) list remember_session'
is $? 0 'up brings the last command back'
tmux send-keys C-u
answers quit ended 'quit ends it'
start "$cairn shell now.heap" '(cairn)'
tmux send-keys Up
wait_for 5 shows '(cairn) quit'
is $? 0 'the history is there the next time'
tmux send-keys C-u
tmux send-keys C-d
wait_for 5 shows ended
is $? 0 'so does control-D'

# jeprof with no kind of output, on a terminal.
ln -s "$cairn" jeprof
start './jeprof leaky now.heap' '(jeprof)'
is $? 0 'jeprof on a terminal is a shell'
shows "Welcome to jeprof!  For help, type 'help'."
is $? 0 'with its greeting'
answers top 'Total: ' 'top there has the total'
wait_for 5 shows "$(./jeprof --text leaky now.heap 2>/dev/null | sed -n 2p)"
ok $? 'and the rows of --text'
answers 'top2 --cum' 'clone3' 'with --cum'
answers 'weblist look_up > look.html' 'wrote look.html' 'weblist writes a page'
holds 'with the source and the instructions behind its lines' python3 -c '
import re
page = open("look.html").read()
row = re.search(r"<tr class=holds><td>[^<]*</td><td>[^<]+</td><td>\d+</td><td><details><summary>([^<]*)</summary><pre>([^<]*)</pre>", page)
assert row and "load_page" in row[1] and "call" in row[2], page[:2000]'
answers 'list look_up' 'ROUTINE ====================== look_up_page in' 'list is as jeprof has it'
answers help 'callgrind' 'help'
answers quit ended 'quit ends it'

# Without a terminal it reads commands as well.
is "$(printf 'bytes\ntop1\n' | "$cairn" shell now.heap 2>/dev/null | grep -c load_page)" 1 'commands from a pipe'
# at_prompt LINES: what the shell prints for them
at_prompt() { printf "$1" | "$cairn" shell "${2:-now.heap}" 2>&1; }
# Options of the sources: the dump is read again, and what cannot be is not set.
same() { # same LINES COMMAND...: the shell prints what the command does
	local lines=$1
	shift
	is "$(at_prompt "$lines")" "$("$cairn" "$@" 2>/dev/null)" "$lines: as cairn $*"
}
same 'top 2\n' top -n 2 now.heap
same 'base=before.heap\ntop\n' top --base before.heap now.heap
same 'top --base=before.heap\n' top --base before.heap now.heap
same 'thread=1\ntop\n' top --thread 1 now.heap
same 'thread=1\nthread=\ntop\n' top now.heap
same 'tags\n' tags now.heap
same 'tagfocus=thread_id=1\ntop\n' top --tagfocus thread_id=1 now.heap
same 'base=before.heap\nnormalize\ntags\n' tags --base before.heap --normalize now.heap
like "$(at_prompt 'thread=nobody\noptions\ntop1\n')" "no samples of thread 'nobody'*thread                 =  *load_page*" 'what cannot be loaded is said, and not set'
like "$(at_prompt 'tagfocus=thread_id=1\nchurn\ntagfocus=\nchurn\n')" "*'cairn churn' takes one dump as it is*does not say what was freed*" 'a command refuses an option that stays set, as it does without the shell'
like "$(at_prompt 'base=missing.heap\ntop1\n')" 'missing.heap: No such file*load_page*' 'nor is a base that is not there'
like "$(at_prompt 'tags\nthread=1\ntop1\n' <(cat now.heap))" '*bytes: *cannot be read twice*load_page*' 'of a pipe there is nothing more to read'
long=$(printf '%0100000d' 0)
is "$(echo options | "$cairn" shell --ignore "$long" now.heap 2>/dev/null | grep '^  ignore ' | tr -cd 0 | wc -c)" 100000 'an option of any length is shown whole'
"$cairn" shell missing.heap </dev/null >/dev/null 2>&1
is $? 1 'no dump, no shell'
done_testing
