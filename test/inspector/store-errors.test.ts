import { createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPage } from './helpers/inbox-page.ts'

/** Returns what the inspector shows if the store of an inbox fails with this error. */
async function shownFor(error: unknown): Promise<string> {
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const page = await openPage({
    ...inbox,
    list: () => Promise.reject(error),
    stats: () => Promise.reject(error),
  })
  const { status, text } = await page.get('/inbox')
  expect(status).toBe(503)
  return /The store of the inbox [^<]+?(?= Reload the page|<)/.exec(text)?.[0] ?? text
}

const withCode = (code: string, message = 'secret'): Error => Object.assign(new Error(message), { code })
const unreachable = (why: string): string => `The store of the inbox is unreachable: ${why}.`
const failed = (code = ''): string => `The store of the inbox reported an error${code}.`

/** Nests an error in causes. */
const nested = (error: Error, depth: number): Error =>
  depth === 0 ? error : new Error('secret', { cause: nested(error, depth - 1) })

describe('an error of the store', () => {
  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ECONNRESET', 'the connection was closed before the response'],
    ['EPIPE', 'the connection was closed before the response'],
    ['ENOTFOUND', 'host not found'],
    ['EAI_AGAIN', 'the host name cannot be resolved now'],
    ['ETIMEDOUT', 'connection timed out'],
    ['EHOSTUNREACH', 'no route to the host'],
    ['ENETUNREACH', 'no route to the network'],
    ['ENOENT', 'no such socket'],
    ['57P01', 'it was shut down'],
    ['57P02', 'it has crashed'],
    ['57P03', 'it is not ready yet'],
  ])('with the code %s is shown as: %s', async (code, why) => {
    expect(await shownFor(withCode(code))).toBe(unreachable(why))
  })

  it.each(['Connection terminated unexpectedly', 'timeout expired', 'the server has not answered for 5 s'])(
    'without a code, with the message "%s", is shown as: no response',
    async (message) => {
      expect(await shownFor(new Error(message))).toBe(unreachable('no response'))
      expect(await shownFor(new Error('secret', { cause: new Error(message) }))).toBe(
        unreachable('no response'),
      )
    },
  )

  it('is found among the errors of several addresses, and up to eight causes deep', async () => {
    const both = new AggregateError([new Error('secret'), withCode('ENOTFOUND')])
    expect(await shownFor(both)).toBe(unreachable('host not found'))
    const deep = nested(withCode('ENOTFOUND'), 8)
    expect(await shownFor(deep)).toBe(unreachable('host not found'))
    expect(await shownFor(nested(withCode('ENOTFOUND'), 9))).toBe(failed())
    const endless = new Error('secret')
    endless.cause = endless
    expect(await shownFor(endless)).toBe(failed())
    const endlessBoth = new AggregateError([])
    endlessBoth.errors.push(endlessBoth)
    expect(await shownFor(endlessBoth)).toBe(failed())
  })

  it('is shown with an unknown code only if it looks like one', async () => {
    expect(await shownFor(withCode('SQLITE_BUSY'))).toBe(failed(' (SQLITE_BUSY)'))
    expect(await shownFor(withCode('a secret, not a code'))).toBe(failed())
    expect(await shownFor('secret')).toBe(failed())
    expect(await shownFor(undefined)).toBe(failed())
  })
})
