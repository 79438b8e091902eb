# Programs that use the library as its users do: public headers, -lhrx. One a file of this folder.
NATIVE_SOURCES := $(wildcard tests/native/*.c)
NATIVE_PROGRAMS := $(NATIVE_SOURCES:%.c=$(B)/%)

$(B)/tests/native/%: tests/native/%.c tests/native/rules.mk $(B)/lib/libhrx.so | $(NPU_PROGRAMS)
	@mkdir -p $(@D)
	$(CC) -std=gnu17 $(OPT) $(WARN) $(SANFLAGS) -pthread -D_GNU_SOURCE -DNPU_PROGRAMS='"$(B)/lib/npu/"' -MMD -MP -MF $@.d -MT $@ \
	  -Iinclude -I. $< -o $@ -L$(B)/lib -lhrx -Wl,-rpath,'$$ORIGIN/../../lib'

.PHONY: native-programs
native-programs: $(NATIVE_PROGRAMS)
check-programs: native-programs
bench-built: native-programs
