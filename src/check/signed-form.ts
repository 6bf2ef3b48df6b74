import { createSigner } from '../testing/signer.ts'
import type { DeliveryParts } from './probe.ts'
import type { Sender } from './sender.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Returns a delivery as this sender writes forms: hosted services sign in the last field, the others in the header. */
export async function signedForm(
  sender: Sender,
  json: Uint8Array,
): Promise<{ body: Uint8Array; parts: DeliveryParts }> {
  const isInField = sender.isSigned && sender.dialect === 'hosted'
  const { bytes } = await createSigner({
    signatureKey: sender.key,
    signatureHeader: sender.header,
    encoding: sender.encoding,
    prefix: sender.prefix,
    contentType: FORM_TYPE,
    signatureIn: isInField ? 'field' : 'header',
    formPayload: isInField ? 'plain' : 'encoded',
  }).sign(Buffer.from(json).toString())
  const credential = isInField ? null : sender.credential(bytes)
  return { body: bytes, parts: { contentType: FORM_TYPE, credential } }
}
