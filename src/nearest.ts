/** Maximum number of edits between a misspelt name and the name that was meant. */
const MAX_EDITS = 2

/** Maximum length of a name to compare. It is limited because a sender may have chosen the name. */
const MAX_LENGTH = 64

/**
 * Returns the candidate most similar to a misspelt name, for "did you mean": at most two characters are inserted,
 * removed or replaced, and fewer than half of the name's. Ignores case. Returns undefined if no candidate is that
 * similar.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  let found: string | undefined
  let fewest = Math.min(MAX_EDITS + 1, name.length / 2)
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > MAX_EDITS) continue
    const edits = countEdits(name.toLowerCase(), candidate.toLowerCase())
    if (edits >= fewest) continue
    found = candidate
    fewest = edits
  }
  return found
}

/** Computes the Levenshtein distance, one row of the matrix at a time. */
function countEdits(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 0; i < from.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const [replaced = 0, removed = 0] = above.slice(j)
      const inserted = row[j] ?? 0
      row.push(Math.min(replaced + Number(from[i] !== to[j]), removed + 1, inserted + 1))
    }
    above = row
  }
  return above[to.length] ?? 0
}
