# Reads "entry NAME "node5" "node6" "node7";" records, writes a linker version script.
BEGIN { RS = ";" }
$1 == "entry" {
  node = ""
  for (i = 3; i <= 5; i++) {
    gsub(/"/, "", $i)
    if ($i == "-") continue
    if (node != "" && node != $i) { print "exports.awk: " $2 " has two nodes, " node " and " $i > "/dev/stderr"; failed = 1 }
    node = $i
  }
  if (node == "") next
  if (!(node in names)) order[++count] = node
  names[node] = names[node] "    " $2 ";\n"
}
END {
  if (failed) exit 1
  for (i = 1; i <= count; i++) printf "%s {\n  global:\n%s};\n\n", order[i], names[order[i]]
}
