# The door to Cairn's build; Meson does the work. `make help` lists what there is.
# Each target first finds what is missing on this machine; root installs it, others learn the command (see scripts/require). Warnings of a
# compiler that we do not know must not break a build: `make MESON_OPTIONS=-Dwerror=true`, as continuous integration does, makes them errors.
BUILD ?= build
PREFIX ?= $(or $(prefix),/usr/local)
MESON_OPTIONS ?=
# Debian's place for libraries, as its compiler names it. Meson would ask dpkg-dev, which need not be installed, and else takes lib64,
# where Debian's loader and pkg-config do not look. Asked late: the compiler may only be installed by require-build.
LIBDIR = $$(triplet=$$($${CC:-cc} -print-multiarch 2>/dev/null) && echo $${triplet:+--libdir lib/$$triplet})

.PHONY: all help demo demo-live demo-fleet check check-long check-all bench mutants install deb sanitize fuzz clean require-build
.NOTPARALLEL: # one apt-get at a time, and before what needs its packages; Ninja uses all cores

all: require-build  ## build build/cairn and build/libcairn.so
	@[ -f $(BUILD)/build.ninja ] || meson setup $(BUILD) --prefix $(PREFIX) $(LIBDIR) $(MESON_OPTIONS) >$(BUILD).log || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@out=$$(ninja -C $(BUILD) 2>&1) || { printf '%s\n' "$$out"; exit 1; }

require-build:
	@scripts/require build

# Together with what the build needs, so that who has to ask somebody else for packages asks once.
require-%:
	@scripts/require build $*

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: require-demo all  ## run a leaking service, kill it, and show which call path leaks and where its memory was
	@scripts/demo $(BUILD)

demo-live: require-demo all  ## run the leaking service and open the live page on it
	@scripts/demo-live $(BUILD)

demo-fleet: require-demo all  ## run two releases of the service, three instances each, and open the page of all of them
	@scripts/demo-fleet $(BUILD)

check: require-check all  ## run the tests (about seven minutes on two cores)
	@scripts/check $(BUILD) check

check-long: require-check all  ## run those that can do more once more: many rounds, large samples (ten minutes)
	@scripts/check $(BUILD) check-long

check-all: require-check require-check-all all  ## run the tests that need large packages or a long time: peers, browsers, sanitizers, soaks
	@scripts/check $(BUILD) check-all

bench: require-check require-bench all  ## ours and the peers on the same work in the same run, and the ratios
	@scripts/bench $(BUILD) $(filter-out bench,$(MAKECMDGOALS))

# `make bench statistics` runs that benchmark alone, `make mutants src/report/flame.c` changes that file.
ifneq ($(filter bench mutants,$(MAKECMDGOALS)),)
$(filter-out bench mutants,$(MAKECMDGOALS)):
	@:
endif

sanitize: require-sanitize  ## the unit tests under ASan and UBSan, then under TSan
	@scripts/sanitize

mutants: require-build  ## change single tokens of src/, or of the files named after it, and list the changes that no test notices
	@scripts/mutants $(MUTANTS_OPTIONS) $(filter-out mutants,$(MAKECMDGOALS))

fuzz: require-sanitize  ## every fuzz target for FUZZ_SECONDS (60) seconds
	@scripts/fuzz

install: all  ## install under PREFIX (/usr/local), staged in DESTDIR
	@meson configure $(BUILD) --prefix $(PREFIX) && ninja --quiet -C $(BUILD) >/dev/null && meson install --quiet --no-rebuild -C $(BUILD)
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || echo "'ldconfig', run by root, lets the loader find libcairn.so.1 by its name"

deb: require-deb  ## a Debian package, build/cairn_VERSION_ARCHITECTURE.deb
	@scripts/deb $(BUILD)

clean:  ## remove what was built
	rm -rf $(BUILD) build-*
