// A real OpenID Connect provider (the npm package `oidc-provider`) for the tests of sign-in.
// Arguments: the folder of the package, and the redirect URI. Prints its issuer when it listens.
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const [folder, redirectUri] = process.argv.slice(2)
const entry = pathToFileURL(`${folder}/node_modules/oidc-provider/lib/index.js`)
const { default: Provider } = await import(entry)

// The name that a person signs in with says which groups they have: ann:admins,staff.
const account = login => {
  const [name, groups = ''] = login.split(':')
  return {
    accountId: login,
    claims: () => ({
      sub: login,
      email: `${name}@example.com`,
      email_verified: true,
      groups: groups.split(','),
    }),
  }
}

const server = createServer((request, response) => handle(request, response))
let handle
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const client = (client_id, extra) => ({
    client_id,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code'],
    ...extra,
  })
  const provider = new Provider(issuer, {
    clients: [
      client('steadfast', { client_secret: 'a secret: with & signs' }),
      client('public', { token_endpoint_auth_method: 'none' }),
    ],
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    findAccount: (_, id) => account(id),
    // The pages of the package for sign-in and consent.
    features: { devInteractions: { enabled: true } },
  })
  handle = provider.callback()
  console.log(issuer)
})
