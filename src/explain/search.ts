import type { Claims } from './claims.ts'
import type { ReceivedRequest } from './request.ts'
import { STAGES } from './stages.ts'
import type { Finding } from './types.ts'
import type { Work } from './work.ts'

/**
 * Computes the signature in every way in which the sender may have computed it, until one of them is in the request:
 * first with one mistake, then with two.
 */
export async function search(
  request: ReceivedRequest,
  claims: Claims,
  work: Work,
): Promise<readonly Finding[] | undefined> {
  if (claims.isEmpty) return undefined
  let elsewhere: readonly Finding[] | undefined
  for (const { perByte, isExpensive, candidates } of STAGES) {
    if (isExpensive && !work.isComplete) continue
    for (const candidate of await candidates(request)) {
      if (candidate.size !== undefined && !claims.canFind(candidate.size)) continue
      if (!work.spend(candidate.message.length, candidate.keySize, perByte)) return elsewhere
      const digest = await candidate.digest()
      const claim = digest === undefined ? undefined : claims.find(digest)
      if (claim) {
        const found = orderMistakes(claim.mistakes, candidate.mistakes)
        if (claim.isPrimary && found.length === 0) return undefined // a right signature
        if (claim.isPrimary || found.every((finding) => claim.mistakes.includes(finding))) return found
        // Another header may contain a signature that is not meant for this receiver, so search on.
        if (!candidate.isKeyless) elsewhere ??= found
      }
      const paused = work.pause()
      if (paused) await paused
    }
  }
  return elsewhere
}

/**
 * Adds the mistake in where the signature is or how it is written. If the sender uses another scheme or algorithm, that
 * is the first cause, because it determines both: such as `t=…,v1=…` over a timestamp and the body.
 */
function orderMistakes(mistakes: readonly Finding[], others: readonly Finding[]): readonly Finding[] {
  const [mistake] = mistakes
  if (!mistake) return others
  // The signature in a form field covers only the payload field.
  if (mistake.cause === 'signature_in_form_field')
    return [...mistakes, ...others.filter(({ cause }) => cause !== 'body_form_field')]
  const isScheme =
    mistake.cause !== 'signature_in_body' &&
    others.some(({ cause }) => cause === 'signed_text' || cause === 'algorithm')
  return isScheme ? [...others, mistake] : [...mistakes, ...others]
}
