import type { FirstAccount } from "./identity/accounts/first-account.ts";

export function describeFirstStart(publicUrl: string, account: FirstAccount): string {
  const { email, password, clientId, clientSecret } = account;
  return `
First start: an administrator and a client were created for you. This is shown once.

  account        ${email}
  password       ${password}
  client id      ${clientId}
  client secret  ${clientSecret}

Log in and change the password: ${publicUrl}/login

Get a token, then list your connections:

  TOKEN=$(curl -s -u '${clientId}:${clientSecret}' -d grant_type=client_credentials \\
    ${publicUrl}/oauth2/token | node -pe 'JSON.parse(fs.readFileSync(0)).access_token')
  curl -H "Authorization: Bearer $TOKEN" ${publicUrl}/api/v1/mcp-servers

More accounts, clients and tokens: npm run -s patchbay -- help
`;
}
