#APP
# 3 "kernel.c" 1
	.insn r CUSTOM_3, 3, 7, x0, a5, a5
# 0 "" 2
#NO_APP
	.section	.rodata
	.zero 8
	.text
	csrw 0x8c0, x0 # tag
x: li a0, 1; .word 1
