import { createReceiver, type ReceiverOptions } from 'geohook'
import type { CheckOptions, CheckReport } from 'geohook/check'
import { createMemoryDuplicates } from 'geohook/inbox'
import { it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import type { Mount } from '../helpers/mounts/mounted.ts'
import { MOUNTS } from '../helpers/mounts.ts'
import { checkUrl, expectConforms, expectFinds, type Finds } from './expectations.ts'

/** What the host does before it calls the receiver, so that no receiver on it could pass. */
const FOUND_IN_HOSTS: Readonly<Record<string, Finds['fails']>> = {
  // Without multi-value headers, a load balancer passes only the last value of a header.
  'Lambda ALB': ['signature-repeated'],
  // The framework decompresses bodies, reads up to 1 GB of them without a time limit, and parses JSON before it calls
  // the function. Its errors have stack traces unless NODE_ENV is production.
  'Google Cloud Functions': [
    'unverified-json',
    'no-stack-trace',
    'too-large-length',
    'too-large-chunked',
    'slow-upload',
  ],
}

const NAMES = Object.keys(MOUNTS)
const mountOf = (name: string): Mount => MOUNTS[name]!.mount

/** Runs all scenarios, except the comparison of times, also those with side effects. */
async function check(
  mount: Mount,
  options: Partial<CheckOptions> = {},
  receiverOptions: Partial<ReceiverOptions> = {},
): Promise<CheckReport> {
  const names: (string | undefined)[] = []
  let failing: string | undefined
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: {},
    duplicates: createMemoryDuplicates(),
    ...receiverOptions,
  }).on('*', ({ webhook: { name } }) => {
    if (failing !== undefined && name === failing) throw new Error('the handler fails')
    names.push(name)
  })
  const { url, close } = await mount(receiver)
  const observer = (id: string): number => names.filter((name) => name === `geohook check ${id}`).length
  const failHandler = (id: string, fails: boolean): void => {
    failing = fails ? `geohook check ${id}` : undefined
  }
  try {
    return await checkUrl(url, { observer, failHandler, sideEffects: true, ...options })
  } finally {
    await close()
  }
}

it.concurrent.each(NAMES.filter((name) => !(name in FOUND_IN_HOSTS)))('%s conforms', async (name) => {
  expectConforms(await check(mountOf(name)))
})

it.concurrent.each(Object.entries(FOUND_IN_HOSTS))('%s conforms except for its host', async (name, fails) => {
  // How long a host takes to decompress 64 MiB depends on the machine.
  const skip = ['uniform-refusal-time', 'compressed-bomb']
  expectFinds(await check(mountOf(name), { skip }), { fails })
})

const PROFILES = ['node:http', 'Lambda HTTP API'].flatMap((name) =>
  (['arcgis', 'portal'] as const).map((profile) => [name, profile] as const),
)

it.concurrent.each(PROFILES)('%s conforms with the profile %s', async (name, profile) => {
  expectConforms(await check(mountOf(name), { profile }, { profile }))
})
