# Programs for the software NPU: shared objects that know nothing of the library. Never instrumented: their inner loops
# are what a device does. -ffp-contract=off: the same bits on every CPU.
NPU_PROGRAM_SOURCES := $(wildcard runtime/npu/programs/*.c)
NPU_PROGRAMS := $(NPU_PROGRAM_SOURCES:runtime/npu/programs/%.c=$(B)/lib/npu/%.so)
NPU_PROGRAM_FLAGS = -std=gnu17 -O3 $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math \
  -MMD -MP -MT $@ -Iinclude

.PHONY: npu-programs npu-install
npu-programs: $(NPU_PROGRAMS)
all: npu-programs

$(B)/lib/npu/%.so: runtime/npu/programs/%.c runtime/npu/rules.mk
	@mkdir -p $(@D)
	$(CC) $(NPU_PROGRAM_FLAGS) -shared -Wl,-z,defs -Wl,-z,now -o $@ $<

# Beside the library.
install: npu-install
npu-install: $(NPU_PROGRAMS)
	install -d $(DESTDIR)$(PREFIX)/lib/npu
	install -m 755 $(NPU_PROGRAMS) $(DESTDIR)$(PREFIX)/lib/npu/

# What its tests load: a program by a C and by a C++ compiler, and some that must be refused.
NPU_FIXTURES := $(addprefix $(B)/tests/fixtures/npu_,good.so plus.so lacking.so small.so empty.so magic.so version.so)
NPU_FIXTURE = $(CC) $(NPU_PROGRAM_FLAGS) -shared

$(B)/tests/fixtures/npu_plus.so: NPU_FIXTURE = $(CXX) $(filter-out -std=gnu17 -Wstrict-prototypes -Wmissing-prototypes,$(NPU_PROGRAM_FLAGS)) -x c++ -shared
$(B)/tests/fixtures/npu_lacking.so: NPU_FIXTURE += -DLACKS_TABLE
$(B)/tests/fixtures/npu_small.so: NPU_FIXTURE += -DSMALL_TABLE
$(B)/tests/fixtures/npu_empty.so: NPU_FIXTURE += -DNO_KERNELS
$(B)/tests/fixtures/npu_magic.so: NPU_FIXTURE += -DMAGIC=0x7f454c46
$(B)/tests/fixtures/npu_version.so: NPU_FIXTURE += -DVERSION=2
$(B)/tests/fixtures/npu_%.so: tests/fixtures/npu_program.c runtime/npu/rules.mk
	@mkdir -p $(@D)
	$(NPU_FIXTURE) -o $@ $<

$(addprefix $(B)/tests/unit/,npu_soft npu_programs): | $(NPU_PROGRAMS) $(NPU_FIXTURES)
