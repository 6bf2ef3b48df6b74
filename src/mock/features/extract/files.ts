import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { MAX_DOCUMENT } from './document.ts'

/** Maximum number of files, and of all their bytes. The file that was not used for the longest time is removed first. */
const MAX_FILES = 1000
const MAX_BYTES = 2 * MAX_DOCUMENT

/** The files with the results of jobs. */
export interface ChangeFiles {
  /** @returns the id of the file */
  add(bytes: Buffer): string
  /** Returns a file, and prolongs its life. */
  get(id: string): Buffer | undefined
  remove(id: string): void
  clear(): void
  /** Returns the query of a signed URL, valid for the lifetime of a file. */
  sign(id: string): string
  /** Checks the query of a signed URL. */
  verify(id: string, expires: string, signature: string): boolean
}

/** @param lifetime seconds */
export function createChangeFiles(now: () => number, lifetime: number): ChangeFiles {
  /** The least recently used file first. */
  const files = new Map<string, { bytes: Buffer; usedAt: number }>()
  const key = randomBytes(32)
  let total = 0

  function remove(id: string): void {
    total -= files.get(id)?.bytes.length ?? 0
    files.delete(id)
  }

  function removeOld(): void {
    for (const [id, { usedAt }] of files) {
      const isExpired = now() - usedAt >= lifetime * 1000
      if (!isExpired && files.size <= MAX_FILES && total <= MAX_BYTES) return
      remove(id)
    }
  }

  const signatureOf = (id: string, expires: string): Buffer =>
    createHmac('sha256', key).update(`${id} ${expires}`).digest()

  return {
    add(bytes) {
      const id = randomUUID()
      files.set(id, { bytes, usedAt: now() })
      total += bytes.length
      removeOld()
      return id
    },
    get(id) {
      removeOld()
      const file = files.get(id)
      if (!file) return undefined
      files.delete(id)
      files.set(id, { bytes: file.bytes, usedAt: now() })
      return file.bytes
    },
    remove,
    clear() {
      files.clear()
      total = 0
    },
    sign(id) {
      const expires = String(now() + lifetime * 1000)
      return `expires=${expires}&signature=${signatureOf(id, expires).toString('hex')}`
    },
    verify(id, expires, signature) {
      const given = Buffer.from(signature, 'hex')
      const right = signatureOf(id, expires)
      return given.length === right.length && timingSafeEqual(given, right) && Number(expires) > now()
    },
  }
}
