"""Ground of all rooms: dtypes, machines, programs, and how a call is split among workers."""
