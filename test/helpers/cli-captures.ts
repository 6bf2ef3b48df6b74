/** Returns the JSON object of a capture file. Values in `members` override the defaults. */
export const captureJson = (members: object = {}): Record<string, unknown> => ({
  geohook: 'capture',
  version: 1,
  receivedAt: '2026-01-02T03:04:05.678Z',
  method: 'POST',
  url: '/hook',
  headers: [],
  body: '',
  outcome: { status: 200 },
  ...members,
})
