import { BODY_CAUSES } from './causes/body.ts'
import type { CauseEntry } from './causes/cause-entry.ts'
import { KEY_CAUSES } from './causes/key.ts'
import { REFUSAL_CAUSES } from './causes/refusal.ts'
import { SECRET_CAUSES } from './causes/secret.ts'
import { SIGNATURE_CAUSES } from './causes/signature.ts'

const OTHER_CAUSES = {
  ok: {
    symptom: 'The receiver accepts the request.',
    proof: 'A receiver with these options accepts the request.',
    fix: 'Nothing to fix: the receiver accepts the request.',
  },
  unexplained: {
    symptom: 'The signature is wrong for a reason that cannot be proved.',
    proof: 'No known mistake leads to this signature.',
    fix: 'Compute the same fingerprints at the sender and compare: the one that differs shows what changed. If both are equal, the sender signs other bytes or signs in another way.',
  },
} as const

/** A cause that `explain` reports. */
export type Cause =
  | keyof typeof SIGNATURE_CAUSES
  | keyof typeof SECRET_CAUSES
  | keyof typeof KEY_CAUSES
  | keyof typeof BODY_CAUSES
  | keyof typeof REFUSAL_CAUSES
  | keyof typeof OTHER_CAUSES

/** Every cause that `explain` reports. It has proof of every cause that it reports, except `unexplained`. */
export const CAUSES: Readonly<Record<Cause, CauseEntry>> = {
  ...SIGNATURE_CAUSES,
  ...SECRET_CAUSES,
  ...KEY_CAUSES,
  ...BODY_CAUSES,
  ...REFUSAL_CAUSES,
  ...OTHER_CAUSES,
}
