import { createMockService, type FeatureEdits, type LayerSeed, type MockService } from 'geohook/mock'
import { expect, it, type TestContext } from 'vitest'
import { createFolder } from '../helpers/folder.ts'
import { findPort } from '../helpers/port.ts'
import { type Started, startNode } from '../helpers/process.ts'
import { randomEdits } from '../helpers/random-edits.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import { openDatabase } from '../helpers/sqlite.ts'
import { createRandom, type Random } from '../inbox/crash/random.ts'
import { type Content, contentOf, type MirrorRows, toContent } from './mirror-content.ts'
import { openSchema } from './mirror-postgres.ts'

const KEY = 'parcels2026'
const TIMEOUT = 60_000
/** The seed of this run, shown in the titles. To repeat a failure: `SEED=… npx vitest run test/changes/sync.package.ts`. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const LAYERS: LayerSeed[] = [
  {
    name: 'trees',
    fields: [
      { name: 'kind', type: 'esriFieldTypeString' },
      { name: 'height', type: 'esriFieldTypeDouble' },
    ],
    features: [{ attributes: { kind: 'oak', height: 12.5 }, geometry: { x: 7, y: 46 } }],
  },
  { name: 'fences', geometryType: 'esriGeometryPolyline' },
  { name: 'owners', fields: [{ name: 'name', type: 'esriFieldTypeString' }] },
]

type Environment = Record<string, string | undefined>

/** A mock with a webhook, and the environment of an app that mirrors its features. */
async function startMock({ onTestFinished }: TestContext) {
  const port = await findPort()
  const service = createMockService({
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }],
    webhooks: [
      {
        serviceName: 'Parcels',
        serviceType: 'FeatureServer',
        name: 'edits',
        hookUrl: `http://127.0.0.1:${port}/hooks/parcels`,
        signatureKey: KEY,
        changeTypes: ['FeaturesEdited', 'AttachmentsCreated', 'AttachmentsUpdated', 'AttachmentsDeleted'],
      },
    ],
    // Deliveries to a stopped app fail, and must not disable the webhook.
    settings: {
      notificationAttempts: 1,
      notificationTimeOutInSeconds: 60,
      numberOfFailures: 1000,
      daysInPast: 1,
    },
    extractChanges: { polls: 0 },
  })
  onTestFinished(() => service.close())
  const url = `${await service.listen()}/rest/services/Parcels/FeatureServer`
  return { service, env: { SIGNATURE_KEY: KEY, SERVICE_URL: url, PORT: `${port}` } }
}

async function startApp({ onTestFinished }: TestContext, env: Environment): Promise<Started> {
  const app = startNode(['server.js'], { TOKEN: undefined, ...env }, { cwd: 'examples/sync' })
  onTestFinished(async () => void (await app.stop('SIGKILL')))
  await app.printed(/listening on/)
  return app
}

/** Makes random edits in several requests, without waiting for their deliveries. */
function edit({ service, random }: { service: MockService; random: Random }): void {
  const parcels = service.features('Parcels')
  for (let request = 0; request < 10; request++) {
    parcels.applyEdits(randomEdits(service, { seed: random.between(0, 2 ** 32 - 1), count: 20 }))
    parcels.applyEdits(editAttachment(service, random))
  }
}

/** Random edits rarely change attachments, so this replaces or deletes one, alone or with its feature. */
function editAttachment(service: MockService, random: Random): FeatureEdits[] {
  const pick = <T>(list: readonly T[]): T | undefined => list[random.between(0, list.length - 1)]
  const layers = service.snapshot().featureData?.[0]?.layers ?? []
  const attached = layers.flatMap(({ id: layerId, features }) =>
    features.flatMap(({ objectId: parent, attachments = [] }) =>
      attachments.map(({ id: attachment }) => ({ layerId, parent, attachment })),
    ),
  )
  const found = pick(attached)
  if (!found) return []
  const { layerId, ...row } = found
  const file = { name: 'new.txt', contentType: 'text/plain', bytes: new Uint8Array([random.between(0, 255)]) }
  const edits: Omit<FeatureEdits, 'layerId'>[] = [
    { deletes: [row.parent] },
    { attachments: { deletes: [row] } },
    { attachments: { updates: [{ ...row, ...file }] } },
  ]
  return [{ layerId, ...pick(edits) }]
}

async function expectEqual(app: Started, service: MockService, read: () => Promise<Content>): Promise<void> {
  // A plain comparison, because the difference of two large contents takes long to compute.
  const isEqual = async () => JSON.stringify(await read()) === JSON.stringify(contentOf(service))
  const end = Date.now() + TIMEOUT
  while (!(await isEqual())) {
    if (Date.now() < end && app.child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 50))
    else return expect({ content: await read(), output: app.output }).toEqual({ content: contentOf(service) })
  }
}

/** Edits a service while its mirror runs, is killed, is down, and runs again. */
async function mirrorAtRandom(
  context: TestContext,
  more: Environment,
  readRows: () => Promise<MirrorRows>,
): Promise<void> {
  const random = createRandom(seed)
  const { service, env } = await startMock(context)
  const read = async () => toContent(await readRows())
  edit({ service, random })

  const first = await startApp(context, { ...env, ...more })
  await first.printed(/copied all features/)
  await expectEqual(first, service, read)
  edit({ service, random })
  await first.printed(/layer \d: \d+ added/)
  edit({ service, random })
  await first.stop('SIGKILL')
  edit({ service, random })

  // Without a further delivery, it must catch up. A slash at the end of the URL makes no difference.
  const second = await startApp(context, { ...env, SERVICE_URL: `${env.SERVICE_URL}/`, ...more })
  await expectEqual(second, service, read)
  edit({ service, random })
  await expectEqual(second, service, read)
  expect(second.output).not.toMatch(/copying|ignored/)
  expect(Object.keys(await read()).filter((key) => key.startsWith('attachment')).length).toBeGreaterThan(0)
  expect(await second.stop()).toBe(0)
}

it.concurrent(`examples/sync mirrors features and attachments in SQLite, also after it was killed (seed ${seed})`, {
  tags: ['sqlite'],
  timeout: 300_000,
}, async (context) => {
  const folder = createFolder()
  context.onTestFinished(folder.remove)
  const MIRROR = folder.fileIn('mirror.db')
  const env = { DATABASE_URL: undefined, INBOX: folder.fileIn('inbox.db'), MIRROR }
  await mirrorAtRandom(context, env, async () => {
    const database = openDatabase(MIRROR)
    try {
      const rowsOf = (table: string) => database.prepare(`select * from ${table}`).all()
      return { features: rowsOf('features'), attachments: rowsOf('attachments') } as MirrorRows
    } finally {
      database.close()
    }
  })
})

await describeWith(POSTGRES, (connectionString) => {
  it.concurrent(`examples/sync mirrors features and attachments in PostgreSQL, also after it was killed (seed ${seed})`, {
    timeout: 300_000,
  }, async (context) => {
    const { env, readRows } = await openSchema(context, connectionString)
    await mirrorAtRandom(context, env, readRows)
  })
})
