import type { CauseEntry } from './cause-entry.ts'

type SecretCause = 'secret_missing' | 'secret_wrong' | 'sender_signs'

/** Causes in the header that contains the key itself, for profiles such as `portal`. */
export const SECRET_CAUSES: Readonly<Record<SecretCause, CauseEntry>> = {
  secret_missing: {
    symptom: 'The request has no key in the header that the profile names, and no signature.',
    proof: 'The header, for example secret, is missing or empty, and no other header looks like a signature.',
    fix: 'Set a secret on the webhook of the portal, and make sure that proxies forward the header.',
    fixIn: {
      Lambda:
        'API Gateway and CloudFront forward only the headers that are configured: add the header secret.',
    },
  },
  secret_wrong: {
    symptom: 'The header that should contain the key contains another text.',
    proof: 'The text differs from every key on this side, and no known mistake leads to it.',
    fix: 'Set the same secret on the webhook of the portal and on this side. A portal has one secret for each webhook.',
  },
  sender_signs: {
    symptom: 'The sender signs the body, but the profile is for senders that send the key itself.',
    proof: 'The request has a signature, in a header or in the last field of a form.',
    fix: "Set the option profile to 'arcgis' or 'service': this sender is not a portal. A signature also proves that the body was not changed.",
  },
}
