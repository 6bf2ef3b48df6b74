import { WebhookVerificationService } from '@hookflo/tern'
import { KEY, signature } from '../lib/payloads.mjs'

const HEADER = 'x-service'

/** tern verifies a `Request` object and parses JSON, so its times include both. */
export const tern = {
  name: '@hookflo/tern',
  prepare(encoding) {
    const config = {
      platform: 'custom',
      secret: KEY,
      signatureConfig: {
        algorithm: 'hmac-sha256',
        headerName: HEADER,
        headerFormat: 'raw',
        payloadFormat: 'raw',
        customConfig: encoding === 'base64' ? { encoding, secretEncoding: 'utf8' } : {},
      },
    }
    return {
      sign: (body) => signature(body, encoding),
      verify(body, header) {
        const request = new Request('http://127.0.0.1/', {
          method: 'POST',
          headers: { [HEADER]: header },
          body,
        })
        return WebhookVerificationService.verify(request, config)
      },
      isRight: ({ isValid }) => isValid,
    }
  },
}
