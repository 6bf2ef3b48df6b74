import { createReceiver } from 'geohook'
import { checkReceiver } from 'geohook/check'
import { webhook } from 'geohook/node'
import { expect, it } from 'vitest'
import type { Probe } from '../../src/check/probe.ts'
import { TLS } from '../../src/check/scenarios/tls.ts'
import { issue, issueCa, serveSecurely } from '../helpers/certificates.ts'
import { KEY } from '../helpers/deliver.ts'
import { idsOf, resultOf } from './receiver.ts'

const listener = webhook(createReceiver({ signatureKey: KEY, observer: {} }).on('*', () => {}))
const only = ['tls']

it('passes a receiver with a trusted certificate', async () => {
  const ca = issueCa()
  const { url } = await serveSecurely(issue({ issuer: ca, days: [-1, 30] }), listener)
  const report = await checkReceiver({ url, signatureKey: KEY, ca: ca.cert, only })
  expect(report.conclusion).toBe('conforms')
  expect(report.counts).toMatchObject({ passed: 6, failed: 0, undecided: 0 })
})

it('sends nothing to a receiver whose certificate is not trusted', async () => {
  const server = await serveSecurely(issue(), listener)
  const report = await checkReceiver({ url: server.url, signatureKey: KEY })
  expect(report.conclusion).toBe('fails')
  expect(resultOf(report, 'tls-chain')).toMatchObject({
    verdict: 'failed',
    evidence: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
  })
  expect(resultOf(report, 'valid-json').verdict).toBe('undecided')
  expect(resultOf(report, 'redirect')).toMatchObject({
    verdict: 'undecided',
    evidence: 'no response arrived',
  })
  expect(resultOf(report, 'signature-missing').verdict).toBe('undecided')
  expect(server.requests).toBe(0)
})

it('finds a certificate for another host', async () => {
  const ca = issueCa()
  const server = await serveSecurely(issue({ issuer: ca, dns: ['hooks.example.com'], ip: [] }), listener)
  const report = await checkReceiver({ url: server.url, signatureKey: KEY, ca: ca.cert })
  expect(report.conclusion).toBe('fails')
  expect(resultOf(report, 'tls-host-name')).toMatchObject({ verdict: 'failed' })
  expect(resultOf(report, 'tls-chain')).toMatchObject({ verdict: 'passed' })
  expect(server.requests).toBe(0)
})

it('finds a certificate that expires soon', async () => {
  const ca = issueCa()
  const { url } = await serveSecurely(issue({ issuer: ca, days: [-30, 3] }), listener)
  const report = await checkReceiver({ url, signatureKey: KEY, ca: ca.cert, only })
  expect(resultOf(report, 'tls-expiry')).toMatchObject({ verdict: 'failed', level: 'should' })
})

it('finds a receiver that accepts TLS 1.1', async () => {
  const ca = issueCa()
  const { url } = await serveSecurely(issue({ issuer: ca, days: [-1, 30] }), listener, {
    minVersion: 'TLSv1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  })
  const report = await checkReceiver({ url, signatureKey: KEY, ca: ca.cert, only })
  expect(idsOf(report, 'failed')).toEqual(['tls-version'])
})

// Called without a server, because tests listen only on addresses of this machine.
it.each([
  ['http://hooks.example.com/', 'failed'],
  ['http://192.0.2.1:3000/', 'failed'],
  ['http://localhost.example.com/', 'failed'],
  ['http://127.0.0.1.example.com/', 'failed'],
  ['http://localhost:3000/', 'skipped'],
  ['http://receiver.localhost/', 'skipped'],
  ['http://127.0.0.1:3000/', 'skipped'],
  ['http://[::1]:3000/', 'skipped'],
  ['http://0.0.0.0:3000/', 'skipped'],
  ['http://[::]:3000/', 'skipped'],
  ['http://[::ffff:127.0.0.1]:3000/', 'skipped'],
  ['http://[::ffff:192.0.2.1]:3000/', 'failed'],
  ['http://127.example.com/', 'failed'],
  ['https://hooks.example.com/', 'passed'],
])('requires https unless the receiver is on this machine: %s', async (url, verdict) => {
  const scenario = TLS.find(({ id }) => id === 'tls-used')
  expect(await scenario?.run({ url: new URL(url) } as Probe)).toMatchObject({ verdict })
})
