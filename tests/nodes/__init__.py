"""Several servers over one PostgreSQL database, each a process: what one begins the others see, end and count once."""
