import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { startGeohook } from '../helpers/cli.ts'
import { readCompose } from '../helpers/compose.ts'
import { createFolder } from '../helpers/folder.ts'
import { findPort } from '../helpers/port.ts'
import { startNode } from '../helpers/process.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import { openSchema } from './mirror-postgres.ts'

const folder = 'examples/sync'

await describeWith(POSTGRES, (connectionString) => {
  it('compose.yaml of examples/sync starts an app and a mock that work together', async (context) => {
    const { receiver, mock } = readCompose(folder).services
    const seed = readFileSync(`${folder}/seed.json`, 'utf8')
    const [webhook] = JSON.parse(seed).webhooks
    const { PORT, SERVICE_URL = '', ...env } = receiver?.environment ?? {}
    expect(receiver?.command).toBe('npm start')
    expect(env.SIGNATURE_KEY).toBe(webhook.signatureKey)
    expect(PORT).toBe(new URL(webhook.hookUrl).port)
    expect(SERVICE_URL).toBe('http://127.0.0.1:4000/rest/services/Parcels/FeatureServer')

    // Both on ports of this test.
    const [port, mockPort] = [await findPort(), await findPort()]
    const url = SERVICE_URL.replace('4000', `${mockPort}`)
    const { env: database, readRows } = await openSchema(context, connectionString)
    const ours = {
      ...env,
      EVERY: '500',
      ...database,
      HOST: undefined,
      TOKEN: undefined,
      PORT: `${port}`,
      SERVICE_URL: url,
    }
    const app = startNode(['server.js'], ours, { cwd: folder })
    context.onTestFinished(async () => void (await app.stop('SIGKILL')))
    await app.printed(/listening on/)

    const files = createFolder()
    context.onTestFinished(files.remove)
    const file = files.fileIn('seed.json')
    writeFileSync(file, seed.replace(`:${PORT}/`, `:${port}/`))
    const [, command = ''] = /^npx geohook (.*)$/.exec(mock?.command ?? '') ?? []
    const service = startGeohook([...command.replace('seed.json', file).split(' '), '--port', `${mockPort}`])
    context.onTestFinished(async () => void (await service.stop()))
    await app.printed(/copied all features/)

    const text = readFileSync(`${folder}/compose.yaml`, 'utf8')
    const [, edit = ''] = /exec mock node (.*)/.exec(text) ?? []
    const editor = startNode([edit], { SERVICE_URL: url }, { cwd: folder })
    context.onTestFinished(async () => void (await editor.stop('SIGKILL')))
    const [, kept = ''] = await editor.printed(/not deleted: (.*)/)
    const ids = [1, 2, ...kept.split(', ').map(Number)]
    expect(ids.length).toBeGreaterThan(10)
    await until(async () => {
      const mirrored = (await readRows()).features.filter(({ layer }) => layer === 0)
      return `${mirrored.map(({ object_id }) => Number(object_id)).sort((a, b) => a - b)}` === `${ids}`
    })
  })
})
