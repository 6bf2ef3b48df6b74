/** The longest turn of the event loop from `begin` to `end`, in milliseconds. It keeps the loop turning all the while. */
export function createTurns() {
  let running
  let last
  let longest
  function turn() {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    running = setImmediate(turn)
  }
  return {
    begin() {
      longest = 0
      last = performance.now()
      running = setImmediate(turn)
    },
    end() {
      clearImmediate(running)
      return longest
    },
  }
}
