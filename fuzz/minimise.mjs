import { shrink } from './shrink.mjs'

/**
 * Returns a few short inputs that reach every branch that the corpus reaches.
 *
 * @param branchesOf returns the branches that an input reaches; undefined for a finding
 */
export async function minimise(corpus, branchesOf) {
  const reachedBy = []
  const left = new Set()
  for (const input of [...corpus].sort((a, b) => a.length - b.length)) {
    const all = (await branchesOf(input)) ?? []
    reachedBy.push({ input, all })
    for (const branch of all) left.add(branch)
  }
  const saved = []
  while (left.size > 0) {
    const gain = ({ all }) => all.filter((branch) => left.has(branch)).length
    let best = reachedBy[0]
    for (const one of reachedBy) if (gain(one) > gain(best)) best = one
    const needed = best.all.filter((branch) => left.has(branch))
    if (needed.length === 0) break
    const input = await shrink(best.input, async (shorter) => {
      const reached = new Set(await branchesOf(shorter))
      return needed.every((branch) => reached.has(branch))
    })
    for (const branch of (await branchesOf(input)) ?? []) left.delete(branch)
    for (const branch of needed) left.delete(branch)
    saved.push(input)
  }
  return saved
}
