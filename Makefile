# Two commands do everything on a fresh Debian 12: `make demo` and `make test`. Meson does the work.
#
#   make demo      sets up, builds, and runs the examples as jobs of several processes
#   make test      sets up, builds, and runs all tests
#   make bench     compares with Open MPI, MPICH and Gloo on this machine
#   make install   installs to PREFIX (default /usr/local), below DESTDIR where it is given
#   make asan | tsan | clang | valgrind | coverage | fuzz    in build directories of their own
#   make format    lays out the C sources; make clean removes all build directories

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 20
TESTS ?=
DEMO = muster examples/hello examples/wordcount examples/kmeans examples/tour

# Debian's own Meson goes first: one from elsewhere may come with a Python of its own. Looked up
# when it is used, since `setup` may have to install it.
MESON = $(shell [ -x /usr/bin/meson ] && echo /usr/bin/meson || command -v meson || echo meson)
TEST = $(MESON) test --num-processes $(JOBS) --print-errorlogs
# configure DIRECTORY, OPTIONS [, COMPILER]: once; ninja does it again where a meson.build changes
configure = [ -f $(1)/build.ninja ] || $(3) $(MESON) setup $(2) $(1)
SANITIZE = -Db_lundef=false --buildtype=debugoptimized

.PHONY: all demo test bench install clean format fuzz asan tsan clang valgrind coverage setup

all: setup
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@$(MESON) compile -C $(BUILD) -j $(JOBS)

setup:
	@tools/setup build

# The command, the library and the examples; not the tests, which are most of the build.
demo: setup
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@ninja -C $(BUILD) -j $(JOBS) $(DEMO)
	@tools/demo $(BUILD)

test: all
	@$(TEST) -C $(BUILD) $(TESTS)

bench:
	@tools/setup build bench
	@$(call configure,build-bench,-Dbench=enabled -Dtests=false)
	@$(MESON) compile -C build-bench -j $(JOBS)
	@bench/compare build-bench
	@echo
	@bench/schedules build-bench

install: all
	@$(MESON) configure $(BUILD) -Dprefix=$(PREFIX)
	@$(MESON) install -C $(BUILD)

asan: setup
	@$(call configure,build-asan,$(SANITIZE) -Db_sanitize=address$(comma)undefined)
	@$(TEST) -C build-asan --no-suite system --no-suite house $(TESTS)

tsan: setup
	@$(call configure,build-tsan,$(SANITIZE) -Db_sanitize=thread)
	@$(TEST) -C build-tsan --suite contract --suite api $(TESTS)

clang:
	@tools/setup build fuzz
	@$(call configure,build-clang,,CC=clang)
	@$(MESON) compile -C build-clang -j $(JOBS)

valgrind:
	@tools/setup build valgrind
	@$(call configure,build-valgrind,)
	@CK_TIMEOUT_MULTIPLIER=30 $(TEST) -C build-valgrind --suite unit --suite contract -t 20 \
	    --wrap='valgrind -q --error-exitcode=99 --leak-check=full --track-fds=yes' $(TESTS)

coverage:
	@tools/setup build coverage
	@$(call configure,build-coverage,-Db_coverage=true --buildtype=debug)
	@$(TEST) -C build-coverage $(TESTS) || true
	@gcovr -r . --object-directory build-coverage -f src/ --exclude-throw-branches

fuzz:
	@tools/setup build fuzz
	@$(call configure,build-fuzz,$(SANITIZE) -Dfuzz=true -Dtests=false \
	    -Db_sanitize=address$(comma)undefined,CC=clang)
	@$(MESON) compile -C build-fuzz -j $(JOBS)
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

format:
	@tools/setup format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf $(addprefix build,/ $(addprefix -,asan tsan clang valgrind coverage fuzz bench))

comma := ,
