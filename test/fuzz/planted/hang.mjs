export function run(input) {
  while (input[0] === 7) {}
}
