import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Admin, AdminError, Webhooks } from 'geohook/admin'
import type { MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { errorOf, KEY, PRODUCTS, type Product, type Sent, type Started, start, stored } from './support.ts'

interface Change {
  products: readonly Product[]
  run(webhooks: Webhooks, admin: Admin, url: string): Promise<unknown>
  /** What shows that the change was made. */
  made(mock: MockService): unknown
}

const one = (mock: MockService) => mock.snapshot().webhooks[0]

/** Every operation that changes something. */
const CHANGES: Record<string, Change> = {
  create: {
    products: PRODUCTS,
    run: (webhooks, _, url) =>
      webhooks.create({ name: 'new', hookUrl: `${url}/hook`, key: KEY, active: true }),
    made: (mock) => mock.snapshot().webhooks[1]?.name === 'new',
  },
  edit: {
    products: PRODUCTS,
    run: (webhooks) => webhooks.edit('edits', { name: 'renamed' }),
    made: (mock) => one(mock)?.name === 'renamed',
  },
  deactivate: {
    products: PRODUCTS,
    run: (webhooks) => webhooks.deactivate('edits'),
    made: (mock) => one(mock)?.active === false,
  },
  delete: {
    products: PRODUCTS,
    run: (webhooks) => webhooks.delete('edits'),
    made: (mock) => one(mock) === undefined,
  },
  deleteAll: {
    products: PRODUCTS,
    run: (webhooks) => webhooks.deleteAll(),
    made: (mock) => one(mock) === undefined,
  },
  deactivateAll: {
    products: PRODUCTS,
    run: (webhooks) => webhooks.deactivateAll(),
    made: (mock) => one(mock)?.active === false,
  },
  editSettings: {
    products: PRODUCTS,
    run: (_, admin) => admin.editSettings({ attempts: 4 }),
    made: (mock) => mock.settings.notificationAttempts === 4,
  },
  takeOver: {
    products: ['online'],
    run: (_, admin) => admin.takeOver({ from: 'alice' }),
    made: (mock) => one(mock)?.ownerId === 'admin',
  },
}

const rows = Object.entries(CHANGES).flatMap(([name, { products }]) =>
  products.map((product) => [name, product] as const),
)

/** Reads of ArcGIS Online and portals are POST requests too. */
const isChange = ({ method, path, form }: Sent): boolean =>
  method === 'POST' &&
  (/\/(create(Webhook)?|edit|update|(de)?activate(All)?|delete(All)?|reassignOwner)$/.test(path) ||
    'notificationAttempts' in form)

type Answer = (req: IncomingMessage, res: ServerResponse) => boolean

/** Lets the mock handle a request, and sends another response than that of the mock. */
const instead =
  (end: (res: ServerResponse) => void): Answer =>
  (_, res) => {
    const { writeHead, end: send } = res
    res.writeHead = () => res
    res.end = () => {
      Object.assign(res, { writeHead, end: send })
      end(res)
      return res
    }
    return false
  }

/** Sends a response without a change. */
const only =
  (end: (res: ServerResponse) => void): Answer =>
  (req, res) => {
    req.resume().on('end', () => end(res))
    return true
  }

const drop = (res: ServerResponse): void => void res.destroy()
const showLogin = (res: ServerResponse): void => void res.writeHead(200).end('<!doctype html><p>Sign in')
const timeOut = (res: ServerResponse): void => void res.writeHead(504).end('<h1>Gateway Timeout</h1>')

const json = (body: unknown) => (res: ServerResponse) => void res.end(JSON.stringify(body))

/** Starts a client whose first request that changes something gets this answer. */
async function startWith(product: Product, answer: Answer): Promise<Started & { changes: () => Sent[] }> {
  const changes = () => started.sent.filter(isChange)
  const started: Started = await start(product, {
    admin: { timeout: 5000 },
    before: (req, res) => {
      const last = started.sent.at(-1) as Sent
      return isChange(last) && changes().length === 1 && answer(req, res)
    },
  })
  return { ...started, changes }
}

/** One product with every operation, and every product with one operation. */
const some = rows.filter(([name, product]) => name === 'edit' || product === 'online')

describe.each([
  ['the connection ended', drop, rows],
  ['a login page came', showLogin, some],
  ['a gateway timed out', timeOut, some],
] as const)('the change was made, but %s', (_, end, rows) => {
  it.each(rows)('%s of %s succeeds, and is not sent twice', async (name, product) => {
    const { run, made } = CHANGES[name] as Change
    const { mock, admin, webhooks, url, changes } = await startWith(product, instead(end))
    await run(webhooks, admin, url)
    expect([made(mock), changes().length]).toEqual([true, 1])
  })
})

describe('the change was not made', () => {
  it.each(some)('%s of %s: a login page is reported at once', async (name, product) => {
    const { run, made } = CHANGES[name] as Change
    const { mock, admin, webhooks, url, changes } = await startWith(product, only(showLogin))
    const error = await errorOf(run(webhooks, admin, url))
    expect([error.code, error.message]).toEqual(['admin_malformed', expect.stringMatching(/Sign in/)])
    expect([made(mock), changes().length]).toEqual([false, 1])
  })

  const FAILURES = [{ success: 'False' }, [{ success: false }], { status: 'failed' }, [{ status: 'Failure' }]]

  it.each(rows.map((row, index) => [...row, FAILURES[index % FAILURES.length]] as const))(
    '%s of %s: the failure %j is reported',
    async (name, product, failure) => {
      const { run, made } = CHANGES[name] as Change
      const { mock, admin, webhooks, url, changes } = await startWith(product, only(json(failure)))
      const error = await errorOf(run(webhooks, admin, url))
      expect([error.code, made(mock), changes().length]).toEqual(['admin_refused', false, 1])
    },
  )

  // In parallel, because each takes the five seconds for which a change is looked for.
  it('a lost response is admin_unknown, and an empty one is not taken for success', async () => {
    const ends = [drop, timeOut, json({}), json([]), json({ success: '' }), json({ status: null })]
    const LOST = ['admin_unknown', 'admin_unavailable']
    const UNSEEN = ['admin_unknown', 'admin_not_found']
    const UNMADE = ['admin_not_applied', undefined]
    const codes = await Promise.all(
      rows.map(async ([name, product], index) => {
        const { run, made } = CHANGES[name] as Change
        const end = only(ends[index % ends.length] as typeof drop)
        const { mock, admin, webhooks, url, changes } = await startWith(product, end)
        const error = await errorOf(run(webhooks, admin, url))
        const cause = error.cause as AdminError | undefined
        return [name, product, error.code, cause?.code, made(mock), changes().length]
      }),
    )
    const expected = rows.map(([name, product], index) => {
      const [code, cause] = index % ends.length < 2 ? LOST : name === 'create' ? UNSEEN : UNMADE
      return [name, product, code, cause, false, 1]
    })
    expect(codes).toEqual(expected)
  })
})

it.each([
  ['lost', drop],
  ['empty', json({})],
])('waits for a change that is made after a response that was %s', async (_, end) => {
  let requests = 0
  const { mock, webhooks } = await start('enterprise', {
    async before(req, res) {
      requests++
      if (requests === 3) await mock.edit(stored('enterprise').id, { active: false })
      return requests === 1 && only(end)(req, res)
    },
  })
  await webhooks.deactivateAll()
  expect(requests, 'the change, and two reads').toBe(3)
})
