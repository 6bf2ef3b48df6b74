/** A promise that a test resolves by calling `release()`. */
export function createGate(): { gate: Promise<void>; release: () => void } {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  return { gate, release }
}
