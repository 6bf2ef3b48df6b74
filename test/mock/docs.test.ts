import { readFileSync } from 'node:fs'
import {
  type Attempt,
  createMockService,
  type FaultName,
  type MockService,
  type MockServiceOptions,
  type ProductOptions,
} from 'geohook/mock'
import { expect, it } from 'vitest'
import { FAULTS } from '../../src/mock/faults/faults.ts'

const text = readFileSync(new URL('../../docs/mock.md', import.meta.url), 'utf8')

/** Returns the first cell of each row in the table under a heading. */
const firstCells = (heading: string): string[] => {
  const section = text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `(\w+)(?:\([\w, ]*\))?` \|/gm)].map(([, name]) => name as string)
}

it('docs/mock.md documents every option', () => {
  const options: Record<keyof MockServiceOptions, true> = {
    services: true,
    webhooks: true,
    like: true,
    version: true,
    auth: true,
    settings: true,
    serverUrl: true,
    extractChanges: true,
    concurrency: true,
    allowHosts: true,
    ca: true,
    clock: true,
    control: true,
    save: true,
  }
  expect(firstCells('Options')).toEqual(Object.keys(options))
})

it('docs/mock.md documents every member of like', () => {
  const members: Record<keyof ProductOptions, true> = {
    product: true,
    dialect: true,
    signature: true,
    changesUrl: true,
    fanOut: true,
    featuresEdited: true,
    window: true,
    handshake: true,
    retries: true,
    defaultActive: true,
    omitted: true,
    httpStatus: true,
    errorFormat: true,
    keys: true,
    tokenInForm: true,
    creationCheck: true,
    federated: true,
  }
  expect(firstCells('Products')).toEqual(Object.keys(members))
})

it('docs/mock.md documents every member of the service', () => {
  const members: Record<Exclude<keyof MockService, symbol>, true> = {
    listen: true,
    url: true,
    app: true,
    trigger: true,
    create: true,
    edit: true,
    delete: true,
    list: true,
    features: true,
    deliveries: true,
    redeliver: true,
    faults: true,
    settings: true,
    on: true,
    snapshot: true,
    restore: true,
    reset: true,
    close: true,
  }
  expect(firstCells('Members of the service')).toEqual(Object.keys(members))
})

it('docs/mock.md documents every field of an attempt', () => {
  const fields: Record<keyof Attempt, true> = {
    id: true,
    deliveryId: true,
    webhookId: true,
    number: true,
    hookUrl: true,
    sentAt: true,
    request: true,
    bytesSent: true,
    answer: true,
    error: true,
    milliseconds: true,
    fault: true,
  }
  expect(firstCells('Attempts')).toEqual(Object.keys(fields))
})

it('docs/mock.md describes every fault in the words of the source', () => {
  expect(firstCells('Faults')).toEqual(Object.keys(FAULTS))
  for (const name of Object.keys(FAULTS) as FaultName[])
    expect(text).toContain(`| \`${name}\` | ${FAULTS[name]} |`)
})

it('docs/mock.md documents every operation of the control API', async () => {
  const service = createMockService()
  const url = await service.listen()
  const { paths } = (await (await fetch(`${url}/_mock/openapi.json`)).json()) as {
    paths: Record<string, object>
  }
  await service.close()
  for (const [path, item] of Object.entries(paths)) {
    if (!path.startsWith('/_mock')) continue
    for (const method of Object.keys(item)) {
      const written = `${method.toUpperCase()}[^|]*${path.replace('{id}', '<id>')}\``
      expect(text, `${method} ${path}`).toMatch(new RegExp(written))
    }
  }
})
