# libhrx_interpose.so: the exported names of the HIP libraries, as jumps into libhrx.so. Generated: its version script.
# Never unloaded (nodelete), like libhrx.so: threads of the library run for as long as the process.

INTERPOSE_GENERATED := $(B)/obj/interpose/generated

# Rows become "node name"; a name whose node differs between HIP versions would need .symver, so it stops the build.
$(INTERPOSE_GENERATED)/exports.map: interpose/entrypoints.def interpose/exports.awk
	@mkdir -p $(@D)
	$(CC) -E -P -x c -D'HIP_ENTRY(n,a,b,c,...)=entry n a b c;' -D'HIP_ALIAS(s,n,v)=entry s v v v;' $< \
	  | awk -f interpose/exports.awk >$@

$(B)/lib/libhrx_interpose.so: $(B)/obj/interpose/trampolines.o $(B)/lib/libhrx.so $(INTERPOSE_GENERATED)/exports.map
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -shared -nostartfiles -Wl,-soname,libamdhip64.so.5 -Wl,--version-script=$(INTERPOSE_GENERATED)/exports.map \
	  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -Wl,--enable-new-dtags -Wl,-z,nodelete -Wl,-z,now -Wl,-z,defs -Wl,--no-as-needed \
	  -o $@ $(B)/obj/interpose/trampolines.o -L$(B)/lib -l:libhrx.so

# HRX_LOG=trace: a function a row that shows the call.
$(INTERPOSE_GENERATED)/call_trace_functions.h: interpose/entrypoints.def interpose/call_trace.awk
	@mkdir -p $(@D)
	$(CC) -E -P -x c -D'HIP_ENTRY(n,a,b,c,p,g,type,...)=call n;type;__VA_ARGS__%' -D'HIP_ALIAS(s,n,v)=' $< \
	  | tr '\n%' ' \n' | sed 's/^ *//' | awk -f interpose/call_trace.awk >$@

$(B)/obj/interpose/call_trace.o: CFLAGS_ALL += -I$(INTERPOSE_GENERATED)
$(B)/obj/interpose/call_trace.o: $(INTERPOSE_GENERATED)/call_trace_functions.h
