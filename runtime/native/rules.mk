# hrx.pc: one that works in the build folder, and one that is installed.
VERSION := 1.0

define pc_text
prefix=$(1)
libdir=$(2)
includedir=$(3)

Name: hrx
Description: Runs GPU and NPU work in the order that its data needs
Version: $(VERSION)
Cflags: -I$${includedir}
Libs: -L$${libdir} -Wl,--push-state,--no-as-needed -lhrx -Wl,--pop-state -Wl,-rpath,$${libdir}
endef
export PC_BUILD := $(call pc_text,$(CURDIR),$(CURDIR)/$(B)/lib,$(CURDIR)/include)
export PC_INSTALLED := $(call pc_text,$(PREFIX),$(PREFIX)/lib,$(PREFIX)/include)

all: $(B)/lib/pkgconfig/hrx.pc

$(B)/lib/pkgconfig/hrx.pc: runtime/native/rules.mk
	@mkdir -p $(@D)
	@printf '%s\n' "$$PC_BUILD" >$@

.PHONY: pc-install
install: pc-install
pc-install:
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	@printf '%s\n' "$$PC_INSTALLED" >$(DESTDIR)$(PREFIX)/lib/pkgconfig/hrx.pc
