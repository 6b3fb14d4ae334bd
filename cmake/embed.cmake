# Writes OUTPUT, a C file that defines `const char NAME[]`: the bytes of INPUT and a terminating NUL.
# One character constant a byte: string literals have a length limit, and this has none.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
# Sixteen of them to a line.
string(REPEAT "'.x..'," 16 row)
string(REGEX REPLACE "(${row})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}\n'\\0'};\n")
