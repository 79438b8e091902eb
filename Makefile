# hrx. `make` builds all; README.md says what for. One non-recursive Makefile: objects and their
# dependency files live under $(B).
#
#   make [SAN=address|thread]   the library, the preload, the stand-ins, the tool
#   make demo | check | check-full | bench | model | fuzz | install | clean
#   make format [SINCE=COMMIT]  lines changed since then

SAN ?=
B := build$(if $(SAN),/$(SAN))
PREFIX ?= /usr/local
DESTDIR ?=

CC ?= gcc
CLANG ?= clang-19
HIPCC ?= hipcc
OPT ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
HIP_INCLUDES := -isystem /usr/include -D__HIP_PLATFORM_AMD__
CFLAGS_ALL := -std=gnu17 $(OPT) $(WARN) $(SANFLAGS) -fPIC -fvisibility=hidden -pthread -MMD -MP \
  -Iinclude -Iruntime -I. -D_GNU_SOURCE $(CFLAGS)
LIBS := -lelf -lmsgpackc -ljansson -lzstd -lz -lunwind -ldl -lm -pthread

# Guest arithmetic must round exactly as written.
SOFT_FLAGS := -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
LEVEL_baseline := -O3 -march=x86-64
LEVEL_v3 := -O3 -march=x86-64-v3
LEVEL_v4 := -O3 -march=x86-64-v4 -mprefer-vector-width=512

# These do what guest kernels do, whose races and overruns are the guest's affair: never instrumented.
GUEST_FLAGS := $(if $(SAN),-fno-sanitize=all)

SOFT_LEVEL_SOURCES := $(wildcard runtime/gpu/soft/vector/*.c runtime/gpu/soft/memory/*.c)
SOURCES := $(wildcard $(addsuffix /*.c,runtime/base runtime/memory runtime/engine runtime/code runtime/gpu runtime/gpu/soft \
  runtime/gpu/sim runtime/gpu/hip runtime/npu runtime/npu/soft runtime/trace runtime/native runtime/hip interpose))
TOOL_SOURCES := $(wildcard runtime/tool/*.c)
UNIT_SOURCES := $(wildcard tests/unit/*.c)

OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o) \
  $(foreach l,baseline v3 v4,$(SOFT_LEVEL_SOURCES:%.c=$(B)/obj/%.$(l).o))
TOOL_OBJECTS := $(TOOL_SOURCES:%.c=$(B)/obj/%.o)
UNIT_TESTS := $(UNIT_SOURCES:%.c=$(B)/%)

STAND_INS := libamdhip64.so libamdhip64.so.5 libamdhip64.so.6 libamdhip64.so.7 \
  libhiprtc.so libhiprtc.so.6 libhiprtc.so.7 libroctx64.so libroctx64.so.4

.PHONY: all libs demo check check-full bench fuzz install format clean unit setup
.DELETE_ON_ERROR:
.SECONDARY:

all: libs $(B)/bin/hrx
libs: $(B)/lib/libhrx.so $(B)/lib/libhrx_interpose.so $(STAND_INS:%=$(B)/lib/hip/%)

$(B)/obj/runtime/gpu/soft/%.o: CFLAGS_ALL += $(SOFT_FLAGS)
$(B)/obj/interpose/%.o: CFLAGS_ALL += $(HIP_INCLUDES)

define level_rule
$(B)/obj/%.$(1).o: %.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS_ALL) $$(LEVEL_$(1)) $$(SOFT_FLAGS) $$(GUEST_FLAGS) -DSOFT_LEVEL=$(1) -DSOFT_LEVEL_$(1)=1 -c $$< -o $$@
endef
$(foreach l,baseline v3 v4,$(eval $(call level_rule,$(l))))

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c $< -o $@

$(B)/obj/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(CC) -MMD -MP -Iinclude -Iruntime -I. -c $< -o $@

# Everything, for tests that look inside.
$(B)/obj/libinside.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(B)/lib/libhrx.so: $(OBJECTS) runtime/hrx.map
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -shared -Wl,-soname,libhrx.so.1 -Wl,--version-script=runtime/hrx.map -Wl,-z,nodelete -Wl,-z,now -Wl,-z,defs \
	  -o $@ $(OBJECTS) $(LIBS)
	ln -sf libhrx.so $(B)/lib/libhrx.so.1

$(B)/bin/hrx: $(TOOL_OBJECTS) $(B)/obj/libinside.a
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $(TOOL_OBJECTS) $(B)/obj/libinside.a $(LIBS)

# One file under every name: the loader recognises it by its inode, so a process has one state.
$(B)/lib/hip/%: $(B)/lib/libhrx_interpose.so
	@mkdir -p $(@D)
	ln -sf ../libhrx_interpose.so $@

$(B)/tests/unit/%: tests/unit/%.c $(B)/obj/libinside.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(HIP_INCLUDES) $< -o $@ $(UNIT_LINK) $(B)/obj/libinside.a $(LIBS) $$(pkg-config --libs check)

unit: $(UNIT_TESTS)
	@for t in $(UNIT_TESTS); do echo "== $$t"; $$t || exit 1; done

# Only lines changed since that commit: tables keep the columns that their authors gave them.
SINCE ?= HEAD
format:
	@command -v clang-format-diff >/dev/null || { echo "make format needs clang-format-diff (Debian: clang-format)"; exit 1; }
	git diff -U0 --no-color $(SINCE) -- '*.c' '*.h' | clang-format-diff -p1 -i

clean:
	rm -rf build

-include interpose/rules.mk runtime/native/rules.mk runtime/npu/rules.mk tests/fixtures.mk tests/unit/faults.mk tests/fuzz/rules.mk tests/rules.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
