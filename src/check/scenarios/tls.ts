import { isLoopback } from '../../shared/loopback.ts'
import { inspectTls, offerOldTls, type TlsReport } from '../connection.ts'
import type { Scenario } from '../judge.ts'
import type { Probe } from '../probe.ts'
import { type Finding, failed, passed, skipped, undecided } from '../types.ts'

const DAY = 86_400_000
const MIN_DAYS = 14

const isHttps = ({ url }: Probe): boolean => url.protocol === 'https:'

/** True for this machine, also by the addresses that listen on all interfaces. */
const isLocal = ({ hostname }: URL): boolean =>
  isLoopback(hostname) || /^(0\.0\.0\.0|\[::\]|(.+\.)?localhost\.?)$/.test(hostname)

const withTls =
  (judge: (report: TlsReport, probe: Probe) => Finding): Scenario['run'] =>
  async (probe) =>
    isHttps(probe) ? judge(await inspectTls(probe.target), probe) : skipped('the URL has no TLS')

/** The certificate and the encryption. */
export const TLS: readonly Scenario[] = [
  {
    id: 'tls-used',
    level: 'must',
    title: 'has an https URL',
    reason:
      'Without TLS, anyone between sender and receiver can read the deliveries, and send a captured one again.',
    fix: 'Put a certificate on the receiver, or on a proxy in front of it.',
    run(probe) {
      if (isHttps(probe)) return passed(`the URL begins with https`)
      if (isLocal(probe.url)) return skipped('the receiver is on this machine')
      return failed('the URL begins with http')
    },
  },
  {
    id: 'tls-chain',
    level: 'must',
    title: 'has a trusted certificate, and sends all certificates between it and the root CA',
    reason:
      'A sender that does not trust the certificate sends nothing. Some browsers download missing certificates of the chain, but most HTTP clients do not, so the URL may work in a browser and fail in a sender.',
    fix: 'Configure the server to send the full chain, and renew expired certificates. If your own CA signed the certificate, name its file with --ca.',
    run: withTls(({ chainError }) =>
      chainError === undefined
        ? passed('the chain is trusted')
        : failed(`the chain is not trusted: ${chainError}`),
    ),
  },
  {
    id: 'tls-host-name',
    level: 'must',
    title: 'has a certificate for the host name of the URL',
    reason: 'A sender must refuse a certificate for another host (RFC 9110 section 4.3.4).',
    fix: 'Add the host name to the certificate, as a subject alternative name.',
    run: withTls(({ hostError }) =>
      hostError === undefined ? passed('the certificate is for this host') : failed(hostError),
    ),
  },
  {
    id: 'tls-expiry',
    level: 'should',
    title: `has a certificate that is valid for ${MIN_DAYS} more days`,
    reason: 'Deliveries stop without notice on the day when the certificate expires.',
    fix: 'Renew the certificate automatically.',
    run: withTls(({ validTo }) => {
      const days = Math.floor((validTo.getTime() - Date.now()) / DAY)
      const evidence = `the certificate is valid for ${days} more days`
      return days >= MIN_DAYS ? passed(evidence) : failed(evidence)
    }),
  },
  {
    id: 'tls-version',
    level: 'should',
    title: 'refuses TLS 1.0 and 1.1',
    reason: 'They have known weaknesses.',
    fix: 'Allow only TLS 1.2 and later.',
    async run(probe) {
      if (!isHttps(probe)) return skipped('the URL has no TLS')
      const result = await offerOldTls(probe.target)
      if (result === 'accepted') return failed('accepted TLS 1.0 or 1.1')
      return result === 'refused'
        ? passed('refused TLS 1.0 and 1.1')
        : undecided(`a connection with TLS 1.0 and 1.1 failed: ${result.message}`)
    },
  },
]
