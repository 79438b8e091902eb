# Reads "call NAME;TYPE;(PARAMETERS)" lines, writes a function for each that calls the untraced one and logs the call.
BEGIN { FS = ";" }
$1 !~ /^call / { next }
{
  name = substr($1, 6); type = $2; parameters = $3
  gsub(/^ +| +$/, "", type)
  gsub(/^ *\(|\) *$/, "", parameters)
  gsub(/^ +| +$/, "", parameters)
  count = 0
  known = parameters != ""
  if (known && parameters != "void") count = split(parameters, list, ",")
  passed = ""; shown = ""
  for (i = 1; i <= count; i++) {
    argument = list[i]
    gsub(/ +$/, "", argument)
    match(argument, /[A-Za-z_][A-Za-z_0-9]*$/)
    argument = substr(argument, RSTART)
    passed = passed (i > 1 ? ", " : "") argument
    shown = shown "  ARGUMENT(&call_shown, \"" argument "\", " argument ");\n"
  }
  pointer = type (type ~ /\*$/ ? "" : " ") "(*)(" (known ? parameters : "void") ")"
  print "static " type " traced_" name "(" (known ? parameters : "void") ") {"
  print "  struct call_line call_shown;"
  print "  thread_state.caller = __builtin_return_address(0);"
  print "  call_begin(&call_shown, \"" name "\");"
  printf "%s", shown
  if (!known) print "  call_unknown(&call_shown);"
  call = "((" pointer ")untraced[ENTRY_" name "])(" passed ")"
  if (type == "void") {
    print "  " call ";"
    print "  call_end(&call_shown);"
  } else {
    print "  " type (type ~ /\*$/ ? "" : " ") "call_gave = " call ";"
    if (type == "hipError_t") print "  result_error(&call_shown, call_gave);"
    else if (type == "hiprtcResult") print "  result_compiler(&call_shown, call_gave);"
    else print "  RESULT(&call_shown, call_gave);"
    print "  return call_gave;"
  }
  print "}\n"
}
