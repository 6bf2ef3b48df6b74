import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'

interface Message {
  body: string
  receipt: string
  received: number
  visibleAt: number
}

interface Request {
  MessageBody: string
  ReceiptHandle: string
  VisibilityTimeout: number
  QueueUrl: string
}

/** The part of SQS that the recipe uses (the AWS JSON protocol), with a redrive policy. */
export interface FakeSqs {
  url: string
  /** Messages that are not deleted. */
  messages: Message[]
  /** Bodies in the dead letters. */
  dead: string[]
  close(): void
}

/** The maximum size of a message, which the real service has. */
const MAX_SIZE = 1_048_576

export async function startFakeSqs(maxReceiveCount: number): Promise<FakeSqs> {
  const messages: Message[] = []
  const dead: string[] = []
  const remove = (message: Message | undefined): void => {
    if (message) messages.splice(messages.indexOf(message), 1)
  }
  const withReceipt = ({ ReceiptHandle }: Request) =>
    messages.find(({ receipt }) => receipt === ReceiptHandle)

  const operations: Record<string, (request: Request) => object> = {
    SendMessage({ QueueUrl, MessageBody }) {
      if (MessageBody.length > MAX_SIZE) throw new Error('InvalidParameterValue')
      if (QueueUrl.endsWith('-dead')) dead.push(MessageBody)
      else messages.push({ body: MessageBody, receipt: '', received: 0, visibleAt: 0 })
      return { MessageId: randomUUID(), MD5OfMessageBody: md5(MessageBody) }
    },
    ReceiveMessage({ VisibilityTimeout }) {
      const visible = messages.filter(({ visibleAt }) => visibleAt <= Date.now()).slice(0, 10)
      for (const message of visible.filter(({ received }) => received >= maxReceiveCount)) {
        remove(message)
        dead.push(message.body)
      }
      const received = visible.filter((message) => messages.includes(message))
      for (const message of received) {
        message.received++
        message.receipt = randomUUID()
        message.visibleAt = Date.now() + VisibilityTimeout * 1_000
      }
      return {
        Messages: received.map(({ body, receipt, received: count }) => ({
          MessageId: receipt,
          ReceiptHandle: receipt,
          Body: body,
          MD5OfBody: md5(body),
          Attributes: { ApproximateReceiveCount: `${count}` },
        })),
      }
    },
    DeleteMessage(request) {
      remove(withReceipt(request))
      return {}
    },
    ChangeMessageVisibility(request) {
      const message = withReceipt(request)
      if (message) message.visibleAt = Date.now() + request.VisibilityTimeout * 1_000
      return {}
    },
  }

  const server = createServer(async (request, response) => {
    const [, operation = ''] = `${request.headers['x-amz-target']}`.split('.')
    const parsed = JSON.parse(await readText(request)) as Request
    if (operation === 'ReceiveMessage') await new Promise((resolve) => setTimeout(resolve, 50))
    try {
      response.setHeader('content-type', 'application/x-amz-json-1.0')
      response.end(JSON.stringify(operations[operation]?.(parsed)))
    } catch (error) {
      response.writeHead(400).end(JSON.stringify({ __type: (error as Error).message }))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, messages, dead, close: () => void server.close() }
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
