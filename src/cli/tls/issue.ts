import 'reflect-metadata' // @peculiar/x509 requires it
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import * as asn from '@peculiar/asn1-x509'
import * as x509 from '@peculiar/x509'

// Issues certificates. This module is loaded only when it is needed, because it loads 20 packages.

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  certificate: string
  key: string
}

/** Names and addresses that a certificate is valid for. */
export interface Names {
  dns: readonly string[]
  ip: readonly string[]
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Lifetimes in days. */
export const CA_DAYS = 365
export const SERVER_DAYS = 30

/** The only names and addresses that the CA may certify, so that a stolen key is of no use elsewhere. */
const PERMITTED: readonly ConstructorParameters<typeof asn.GeneralName>[0][] = [
  { dNSName: 'localhost' },
  { iPAddress: '127.0.0.0/8' },
  { iPAddress: '::1/128' },
]

/** Creates a CA that may certify only names of this machine. */
export async function issueCa(now: number): Promise<KeyPair> {
  const keys = await createKeys()
  const subtrees = PERMITTED.map((base) => new asn.GeneralSubtree({ base: new asn.GeneralName(base) }))
  const constraints = new asn.NameConstraints({ permittedSubtrees: new asn.GeneralSubtrees(subtrees) })
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=geohook local CA ${new Date(now).toISOString().slice(0, 10)}`,
    ...validity(now, now + CA_DAYS * DAY),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      new x509.Extension(asn.id_ce_nameConstraints, true, AsnConvert.serialize(constraints)),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certificate: toText(certificate), key: toPem(keys.privateKey) }
}

/** Issues a certificate for a server. It expires with the CA at the latest. */
export async function issueServerCertificate(ca: KeyPair, names: Names, now: number): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(ca.certificate)
  const keys = await createKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    subject: 'CN=localhost',
    issuer: issuer.subjectName,
    ...validity(now, Math.min(now + SERVER_DAYS * DAY, issuer.notAfter.getTime())),
    publicKey: keys.publicKey,
    signingKey: await importKey(ca.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...names.dns.map((value) => ({ type: 'dns', value }) as const),
        ...names.ip.map((value) => ({ type: 'ip', value }) as const),
      ]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  return { certificate: toText(certificate), key: toPem(keys.privateKey) }
}

/** A certificate begins an hour ago, because the clock of a container or a virtual machine may be late. */
const validity = (from: number, to: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(from - HOUR),
  notAfter: new Date(to),
})

const createKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey(
    'pkcs8',
    createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' }),
    ALGORITHM,
    false,
    ['sign'],
  )

const toPem = (key: webcrypto.CryptoKey): string =>
  KeyObject.from(key).export({ format: 'pem', type: 'pkcs8' }).toString()

const toText = (certificate: x509.X509Certificate): string => `${certificate.toString('pem')}\n`
