import { readFileSync } from 'node:fs'
import Ajv from 'ajv/dist/2020.js'
import { type CheckReport, toHtml, toJUnit } from 'geohook/check'
import { describe, expect, it } from 'vitest'
import { always, checkListener } from '../receiver.ts'

const schema = JSON.parse(
  readFileSync(new URL('../../../docs/check-report.schema.json', import.meta.url), 'utf8'),
) as object
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema)

const HOSTILE = '<b>&"\u0000\u001b[31m]]>\ud800 # \\ \n--- ...'

/** A report with a result of each kind, whose evidence has every character that means something in a format. */
const report: CheckReport = {
  format: 1,
  url: 'http://127.0.0.1:3000/',
  version: '0.1.0',
  startedAt: '2026-01-01T00:00:00.000Z',
  duration: 1500,
  profile: 'service',
  dialect: 'service',
  strict: false,
  conclusion: 'fails',
  summary: 'The receiver does not conform: a.',
  counts: { passed: 1, failed: 3, undecided: 1, skipped: 1 },
  results: [
    ['a', 'must', 'failed'] as const,
    ['b', 'should', 'failed'] as const,
    ['c', 'may', 'failed'] as const,
    ['d', 'must', 'passed'] as const,
    ['e', 'must', 'undecided'] as const,
    ['f', 'must', 'skipped'] as const,
  ].map(([id, level, verdict], index) => ({
    id,
    level,
    verdict,
    group: index < 3 ? 'signatures' : 'bodies',
    title: 'refuses #1 \\ <x>',
    reason: 'Because.',
    fix: 'Fix it.',
    evidence: HOSTILE,
    duration: 10,
  })),
}

describe('with hostile evidence', () => {
  it('JSON matches the published schema', () => {
    expect(isValid(report)).toBe(true)
    expect(isValid({ ...report, conclusion: 'fine' })).toBe(false)
  })

  it('JUnit is well-formed XML 1.0 with the right numbers', () => {
    const xml = toJUnit(report)
    expect(xml).toContain('<testsuites name="geohook check" tests="6" failures="1" skipped="4" time="1.500">')
    expect(xml).toContain('<testsuite name="signatures" tests="3" failures="1" skipped="2" errors="0"')
    expect(xml.match(/<failure /g)?.length).toBe(1)
    expect(xml.match(/<skipped /g)?.length).toBe(4)
    // The only characters with a meaning are those of the tags.
    const tags =
      xml.match(/<\/?[a-z-]+(?: [a-z]+="[^"<&]*(?:&[a-z#0-9]+;[^"<&]*)*")*\/?>|<\?xml[^>]*\?>/g) ?? []
    const text = tags.reduce((rest, tag) => rest.replace(tag, ''), xml)
    expect(text).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#10);)/)
    expect(xml).not.toMatch(/[^\P{Cc}\t\n]|\p{Cs}/u)
    expect(toJUnit({ ...report, strict: true })).toContain('failures="2" skipped="3"')
  })

  it('HTML contains no markup of the receiver, no script and no external resource', () => {
    const page = toHtml(report)
    expect(page).toContain('&lt;b&gt;&amp;&quot;')
    expect(page).not.toMatch(/<b>|<script|<link|<img|@import|url\(/)
    expect(page.match(/<details /g)?.length).toBe(6)
    expect(page.match(/<details [^>]* open>/g)?.length).toBe(4)
  })
})

describe('of a real run', () => {
  it('JSON matches the published schema', async () => {
    const real = await checkListener(always(200), { only: ['signatures'] })
    expect(isValid(real), JSON.stringify(isValid.errors)).toBe(true)
  })

  it('JUnit reports an unreachable receiver as an error', () => {
    const xml = toJUnit({ ...report, conclusion: 'unreachable', summary: 'connection refused', results: [] })
    expect(xml).toContain('<error message="connection refused"/>')
  })
})
