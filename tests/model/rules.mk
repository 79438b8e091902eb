# The model of points, clocks and slots: not part of `make check`, because it needs spin and a minute.
.PHONY: model
model:
	scripts/setup model
	tests/model/check $(B)
