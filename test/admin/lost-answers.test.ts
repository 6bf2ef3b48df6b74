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

  it('a lost answer is admin_unknown', async () => {
    const codes = await Promise.all(
      rows.map(async ([name, product], index) => {
        const { run, made } = CHANGES[name] as Change
        const { mock, admin, webhooks, url, changes } = await startWith(
          product,
          only(index % 2 ? drop : timeOut),
        )
        const error = await errorOf(run(webhooks, admin, url))
        expect((error.cause as AdminError).code).toBe('admin_unavailable')
        return [name, product, error.code, made(mock), changes().length]
      }),
    )
    expect(codes).toEqual(rows.map((row) => [...row, 'admin_unknown', false, 1]))
  })
})

it('waits for a change that is made after its answer was lost', async () => {
  let requests = 0
  const { mock, webhooks } = await start('enterprise', {
    async before(req, res) {
      if (req.method === 'GET' && requests === 0) return false
      requests++
      if (requests === 3) await mock.edit(stored('enterprise').id, { name: 'renamed' })
      return requests === 1 && only(drop)(req, res)
    },
  })
  expect((await webhooks.edit('edits', { name: 'renamed' })).changed).toEqual(['name'])
  expect(requests, 'the change, two reads, and the last one').toBe(4)
})
