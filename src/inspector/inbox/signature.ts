import type { StoredDelivery } from '../../receiver/types.ts'
import { arcgis, portal, service } from '../../signature/profiles.ts'
import type { HeaderPairs, SignatureFacts } from '../source.ts'

/** Matches the value of a signature, with an optional prefix such as `sha256=`. */
const SIGNATURE = /^(?:[\w-]+=)?(?:([\da-f]{64})|[\w+/-]{43}=?)$/i

/** What an inbox knows about a verified signature. It does not store the name of the header, so that is looked for. */
export function signatureOf({ keyIndex, profile }: StoredDelivery, headers: HeaderPairs): SignatureFacts {
  const state = keyIndex === undefined ? 'unsigned' : 'verified'
  const key = keyIndex === undefined ? undefined : `key ${keyIndex + 1}${keyIndex === 0 ? ' (newest)' : ''}`
  if (profile === portal.name)
    return { state, key, name: portal.secretHeader, expectedEncoding: 'none: the key itself', isSecret: true }
  const usual = [service, arcgis].map(({ signatureHeader }) => signatureHeader)
  const [name, value] =
    headers.find(([header]) => usual.some((known) => known.toLowerCase() === header.toLowerCase())) ??
    headers.find(([, text]) => SIGNATURE.test(text)) ??
    []
  const [found, hex] = SIGNATURE.exec(value ?? '') ?? []
  return {
    state,
    name: name ?? service.signatureHeader,
    expectedEncoding: 'hex or base64',
    encoding: found === undefined ? undefined : hex === undefined ? 'base64' : 'hex',
    key,
  }
}
