import { JSON_BODY, type Row } from '../table.ts'

/** Keys on this side that are not keys. The sender has another key. */
const PLACEHOLDERS = [
  'undefined',
  '[object Promise]',
  'your-secret-key',
  'my_webhook_secret',
  '<your-signature-key>',
  'change-me',
  'change_me',
  '$WEBHOOK_SECRET',
  '%SIGNATURE_KEY%',
  `\${{ secrets.WEBHOOK_SECRET }}`,
  `\${env.webhookSecret}`,
  '{{ signatureKey }}',
  'process.env.SIGNATURE_KEY',
  '/run/secrets/webhook.key',
]

/** Keys that may be real, although they begin or end like placeholders. */
const KEYS = [
  'my_prod_secret_9f8e7d6c5b4a',
  'my-secret-x8Fh29sKq0Zm3TfPaB1',
  '<abc def 123>',
  'my acme webhook key 2026 Q3 9f8e',
  '$ABCDEF1234567890',
  '{{a8f7d6c5b4}}',
  `\${9f86d081884c7d65}`,
  '%A_RANDOM_KEY%',
  '<correct horse battery>',
]

export const PLACEHOLDER_ROWS: readonly Row[] = [
  ...PLACEHOLDERS.map<Row>((key) => ({
    cause: 'key_placeholder',
    name: `${key} on this side`,
    got: { key },
    evidence: /^The key on this side is (a|an|the) /,
  })),
  ...KEYS.map<Row>((key) => ({
    cause: 'unexplained',
    name: `${key} on both sides, and another body`,
    sent: { key, body: `${JSON_BODY}x` },
    got: { body: JSON_BODY },
  })),
  {
    cause: 'body_changed',
    name: 'a body that content-length proves to be another one, and a key like a placeholder on both sides',
    sent: { key: 'my_webhook_secret', body: `${JSON_BODY}x` },
    headers: (digest) => ({ 'x-service': digest.toString('hex'), 'content-length': '9' }),
    got: { body: JSON_BODY },
  },
]
