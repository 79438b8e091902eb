/* A shared library with one function that does nothing: what a hooked call is compared with. */
int direct_call(void);
int direct_call(void) { return 0; }
