import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readHeader } from '../../receiver/request.ts'
import type { InspectorRequest } from '../http/message.ts'

/** The login, and the secret in forms that other sites cannot know. */
export interface Session {
  /** True if the inspector has no token, or the request has the session cookie or the token as bearer token. */
  isLoggedIn(request: InspectorRequest): boolean
  /** True if `token` is the inspector's token. */
  isToken(token: string): boolean
  /** The `set-cookie` header that logs in, or out. */
  cookie(request: InspectorRequest, isLogin: boolean): string
  /** Hidden value of every form. */
  readonly formSecret: string
  isFormSecret(value: string | undefined): boolean
}

const COOKIE = 'geohook-inspector'

/** @param token undefined if the inspector needs no login */
export function createSession(token: Uint8Array | undefined): Session {
  const key = token ?? randomBytes(32)
  // Derived from the token, so that several processes behind one address accept each other's cookies and forms.
  const derive = (purpose: string): string => createHmac('sha256', key).update(purpose).digest('hex')
  const session = derive('session of the geohook inspector')
  const formSecret = derive('form of the geohook inspector')

  return {
    formSecret,
    isFormSecret: (value) => isEqual(value ?? '', formSecret),
    isToken: (text) => token !== undefined && isEqual(text, Buffer.from(token).toString()),
    isLoggedIn({ headers }) {
      if (!token) return true
      const [, bearer] = /^Bearer (.+)$/i.exec(readHeader(headers, 'authorization') ?? '') ?? []
      if (bearer !== undefined) return this.isToken(bearer)
      return cookiesOf(readHeader(headers, 'cookie')).some((value) => isEqual(value, session))
    },
    cookie({ base, isSecure }, isLogin) {
      const attributes = [
        'HttpOnly',
        'SameSite=Strict',
        `Path=${base || '/'}`,
        ...(isSecure ? ['Secure'] : []),
      ]
      return [`${COOKIE}=${isLogin ? session : ''}`, ...(isLogin ? [] : ['Max-Age=0']), ...attributes].join(
        '; ',
      )
    },
  }
}

/** Values of the session cookie; a browser sends several if the inspector was mounted at several paths. */
const cookiesOf = (header = ''): string[] =>
  header
    .split(/[;,]/)
    .map((pair) => pair.trim().split('='))
    .filter(([name]) => name === COOKIE)
    .map(([, value = '']) => value)

/** Compares digests of equal length, so that the time does not depend on where the texts differ. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHmac('sha256', 'compare').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
