import { concat, toBase64, toHex } from '../bytes.ts'
import type { Case, Finding } from './hypothesis.ts'

/** Another algorithm over the right bytes with the right key. */
export async function explainAlgorithm({ value, body, keys }: Case): Promise<Finding | undefined> {
  const written = value.replace(/^[\w-]+=(?=.)/, '')
  const isWriting = (digest: ArrayBuffer): boolean => {
    const bytes = new Uint8Array(digest)
    return [toHex(bytes), toHex(bytes).toUpperCase(), toBase64(bytes)].some(
      (text) => text === written || text === value,
    )
  }
  for (const key of keys) {
    for (const hash of ['SHA-1', 'SHA-384', 'SHA-512']) {
      const hmac = await crypto.subtle.importKey('raw', view(key), { name: 'HMAC', hash }, false, ['sign'])
      if (isWriting(await crypto.subtle.sign('HMAC', hmac, view(body)))) return found(`HMAC-${hash}`)
    }
    for (const hash of ['SHA-256', 'SHA-1', 'SHA-512']) {
      if (isWriting(await crypto.subtle.digest(hash, view(body))))
        return found(`plain ${hash}, without the key`)
      for (const parts of [
        [key, body],
        [body, key],
      ]) {
        if (isWriting(await crypto.subtle.digest(hash, concat(parts))))
          return found(`${hash} over the key and the body`)
      }
    }
  }
  return undefined
}

const found = (what: string): Finding => ({ cause: 'algorithm', evidence: `The signature is ${what}.` })

const view = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => bytes as Uint8Array<ArrayBuffer>
