// A receiver as a function of AWS Lambda, behind a function URL, API Gateway or a load balancer.
// In a folder of your own: npm install geohook, and deploy the folder with the handler index.handler.
// In a clone of geohook: npm run build
// The key is in the function's environment, as SIGNATURE_KEY. Senders have no AWS account: the URL needs no authorization.
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/lambda'

// Outside of the handler: made once, when the function is loaded.
const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', async (event) => {
  // The answer waits for it: Lambda freezes a function that has answered.
  console.log(`${event.changeType} on ${event.service.serviceName}`)
})

export const handler = webhook(receiver)
