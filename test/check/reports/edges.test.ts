import { type CheckReport, SCENARIOS, toHtml, toJUnit } from 'geohook/check'
import { expect, it } from 'vitest'

const unreachable: CheckReport = {
  format: 1,
  url: 'http://127.0.0.1:3000/',
  version: '0.1.0',
  startedAt: '2026-01-01T00:00:00.000Z',
  duration: 1500,
  profile: 'service',
  dialect: 'service',
  strict: false,
  conclusion: 'unreachable',
  summary: 'wrong certificate of \u001b[31mx\u009b',
  counts: { passed: 0, failed: 0, undecided: 0, skipped: 0 },
  results: [],
}

it('JUnit counts the error of an unreachable receiver in the root element', () => {
  expect(toJUnit(unreachable)).toContain(
    '<testsuites name="geohook check" tests="1" failures="0" skipped="0" errors="1" time="1.500">',
  )
})

it('HTML with all scenarios has no id twice', () => {
  const results = SCENARIOS.map((scenario) => ({
    ...scenario,
    verdict: 'passed' as const,
    evidence: '',
    duration: 1,
  }))
  const ids = [...toHtml({ ...unreachable, results }).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(ids.length).toBeGreaterThan(SCENARIOS.length)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})
