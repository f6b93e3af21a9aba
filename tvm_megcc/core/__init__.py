"""What every room knows: dtypes, machines, programs and how a call is split among workers."""
