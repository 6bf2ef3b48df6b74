import { randomBytes } from 'node:crypto'
import type { Notice } from './html/context.ts'

/**
 * Results of actions, shown on the page after the redirect. The URL contains only an id, so a link cannot contain a
 * forged message.
 */
export interface Notices {
  /** @returns the parameter for the URL */
  add(notice: Notice): string
  get(id: string | null): Notice | undefined
}

const MAX_NOTICES = 100

export function createNotices(): Notices {
  const notices = new Map<string, Notice>()
  return {
    add(notice) {
      const id = randomBytes(9).toString('base64url')
      notices.set(id, notice)
      const [oldest] = notices.keys()
      if (notices.size > MAX_NOTICES && oldest !== undefined) notices.delete(oldest)
      return id
    },
    get(id) {
      const notice = notices.get(id ?? '')
      if (notice) notices.delete(id ?? '')
      return notice
    },
  }
}
