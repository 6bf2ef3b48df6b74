// A flaw behind nested branches, which random bytes reach with a probability of 2^-32. The run fails unless it finds it,
// because a fuzzer that finds nothing looks like a program without faults.
export function run(input) {
  if (input[0] !== 0x67) return
  if (input[1] !== 0xc3) return
  if (input[2] !== 0x1f) return
  if (input[3] === 0x71) throw new Error('planted flaw')
}
