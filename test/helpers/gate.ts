/** Returns a promise and the function that resolves it. */
export function createGate(): { gate: Promise<void>; release: () => void } {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  return { gate, release }
}
