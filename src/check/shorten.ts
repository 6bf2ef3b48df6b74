/** Maximum number of characters of a body or header in the evidence. */
const MAX_SHOWN = 120

/** Replaces control characters, joins white space, and cuts. The key must already be hidden. */
export function shorten(text: string): string {
  const shown = text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '\u{fffd}').trim()
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown
}
